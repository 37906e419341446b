// Loaded before a program that listens where nobody asked for: it listens on this machine only, and tells its port.
// usage: PORT=0 node --import ./address.mjs PROGRAM

import { Server } from "node:net";

const listen = Server.prototype.listen;
Server.prototype.listen = function (port, ...rest) {
  this.once("listening", () => console.error(`listening on http://127.0.0.1:${this.address().port}`));
  return typeof port === "object" ? listen.call(this, port, ...rest) : listen.call(this, { port, host: "127.0.0.1" }, ...rest);
};
