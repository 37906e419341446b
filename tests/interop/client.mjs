// Drives a server with the TypeScript SDK 1.x, which speaks the handshake revisions only.
// usage: node client.mjs SCENARIO URL | -- COMMAND ARGS…

import { Person, capabilities, commandLine, load, reach, run } from "./scenario.mjs";

const sdk = "@modelcontextprotocol/sdk";
const { Client } = load(`${sdk}/client/index.js`);
const { StdioClientTransport } = load(`${sdk}/client/stdio.js`);
const { StreamableHTTPClientTransport } = load(`${sdk}/client/streamableHttp.js`);
const { SSEClientTransport } = load(`${sdk}/client/sse.js`);
const { CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema } = load(`${sdk}/types.js`);

const { scenario, server } = commandLine([]);
const person = new Person();
const client = new Client({ name: "interop-typescript", version: "1.0.0" }, { capabilities });
client.setRequestHandler(ElicitRequestSchema, (request) => person.elicit(request.params));
client.setRequestHandler(CreateMessageRequestSchema, (request) => person.sample(request.params));
client.setRequestHandler(ListRootsRequestSchema, () => person.roots());

const transport = reach(server, { StdioClientTransport, StreamableHTTPClientTransport, SSEClientTransport });
let protocol;
// This SDK tells the agreed version to the transport alone; those over HTTP repeat it in a header.
const told = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = (version) => {
  protocol = version;
  told?.(version);
};

await run({ sdk, client, transport, person, scenario, connected: () => protocol });
