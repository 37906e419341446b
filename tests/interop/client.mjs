// Drives a server with the TypeScript SDK 1.x, which speaks the handshake revisions only.
// usage: node client.mjs weather|orders URL | -- COMMAND ARGS…

import { Person, commandLine, load, reach, run } from "./scenario.mjs";

const sdk = "@modelcontextprotocol/sdk";
const { Client } = load(`${sdk}/client/index.js`);
const { StdioClientTransport } = load(`${sdk}/client/stdio.js`);
const { StreamableHTTPClientTransport } = load(`${sdk}/client/streamableHttp.js`);
const { SSEClientTransport } = load(`${sdk}/client/sse.js`);
const { ElicitRequestSchema } = load(`${sdk}/types.js`);

const { scenario, server } = commandLine([]);
const person = new Person();
const client = new Client(
  { name: "interop-typescript", version: "1.0.0" },
  { capabilities: { elicitation: { form: {} } } },
);
client.setRequestHandler(ElicitRequestSchema, (request) => person.elicit(request.params));

const transport = reach(server, { StdioClientTransport, StreamableHTTPClientTransport, SSEClientTransport });
let protocol;
// This SDK tells the agreed version to the transport alone; those over HTTP repeat it in a header.
const told = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = (version) => {
  protocol = version;
  told?.(version);
};

await run({ sdk, client, transport, person, scenario, connected: () => protocol });
