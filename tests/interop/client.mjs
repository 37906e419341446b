// Drives a stdio server with the TypeScript SDK 1.x, which speaks the handshake revisions only.
// usage: node client.mjs weather|orders -- COMMAND ARGS…

import { Person, commandLine, load, run } from "./scenario.mjs";

const sdk = "@modelcontextprotocol/sdk";
const { Client } = load(`${sdk}/client/index.js`);
const { StdioClientTransport } = load(`${sdk}/client/stdio.js`);
const { ElicitRequestSchema } = load(`${sdk}/types.js`);

const { scenario, command, args } = commandLine([]);
const person = new Person();
const client = new Client(
  { name: "interop-typescript", version: "1.0.0" },
  { capabilities: { elicitation: { form: {} } } },
);
client.setRequestHandler(ElicitRequestSchema, (request) => person.elicit(request.params));

const transport = new StdioClientTransport({ command, args, env: process.env });
let protocol;
// This SDK tells the agreed version to the transport alone.
transport.setProtocolVersion = (version) => {
  protocol = version;
};

await run({ sdk, client, transport, person, scenario, connected: () => protocol });
