// What the servers on both TypeScript SDKs share.

import { createRequire } from "node:module";

// The SDKs are installed by `cargo xtask setup`, apart from the sources.
export const load = createRequire(new URL("../../.tools/", import.meta.url));

export const NOTE = "note://one";
// How long a client is asked to wait before it comes back to a stream.
export const RETRY_MS = 100;

export const mode = process.argv[2];
if (process.argv.length !== 3 || !["stateful", "stateless"].includes(mode)) {
  console.error(`usage: node ${process.argv[1]} stateful|stateless`);
  process.exit(2);
}

export const namesLike = (start) => ["Ann", "Anna", "Bob"].filter((name) => name.startsWith(start));

/** Listens on a free port of this machine, and tells which. */
export function listen(server) {
  server.listen(0, "127.0.0.1", () => console.error(`listening on http://127.0.0.1:${server.address().port}/mcp`));
}

/** Everything that was sent, for clients that come back: the event store of both SDKs. */
export class Kept {
  events = [];

  async storeEvent(stream, message) {
    this.events.push({ stream, message });
    return `event-${this.events.length}`;
  }

  async getStreamIdForEventId(id) {
    return this.events[this.numberOf(id) - 1]?.stream;
  }

  async replayEventsAfter(id, { send }) {
    const last = this.numberOf(id);
    const { stream } = this.events[last - 1];
    for (const [index, event] of this.events.entries()) {
      const isMessage = Object.keys(event.message).length > 0;
      if (index >= last && event.stream === stream && isMessage) await send(`event-${index + 1}`, event.message);
    }
    return stream;
  }

  numberOf(id) {
    return Number(id.replace("event-", ""));
  }
}
