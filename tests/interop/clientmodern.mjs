// Drives a server with the split TypeScript SDK (2.x), which speaks both eras.
// usage: node clientmodern.mjs ERA SCENARIO URL | -- COMMAND ARGS…
// ERA: legacy (handshake), auto (probe, then decide), modern (the newest revision and nothing else),
// or one handshake revision, such as 2025-03-26, to offer that one alone.

import { Person, capabilities, commandLine, load, reach, run } from "./scenario.mjs";

const sdk = "@modelcontextprotocol/client";
const { Client, SSEClientTransport, StreamableHTTPClientTransport, SUPPORTED_PROTOCOL_VERSIONS } = load(sdk);
const { StdioClientTransport } = load(`${sdk}/stdio`);

const { options, scenario, server } = commandLine(["ERA"]);
const [era] = options;

const negotiations = {
  legacy: { versionNegotiation: { mode: "legacy" } },
  auto: { versionNegotiation: { mode: "auto" } },
  modern: { versionNegotiation: { mode: { pin: "2026-07-28" } } },
};
const negotiation = SUPPORTED_PROTOCOL_VERSIONS.includes(era)
  ? { versionNegotiation: { mode: "legacy" }, supportedProtocolVersions: [era] }
  : negotiations[era];
if (!negotiation) {
  const revisions = SUPPORTED_PROTOCOL_VERSIONS.join(", ");
  console.error(`unknown ERA ${era}: legacy, auto, modern, or one of ${revisions}`);
  process.exit(2);
}

const person = new Person();
const client = new Client(
  { name: "interop-typescript", version: "2.0.0" },
  { capabilities, ...negotiation },
);
// These answer the old requests and, through the same handlers, the inputs a modern result asks for.
client.setRequestHandler("elicitation/create", (request) => person.elicit(request.params));
client.setRequestHandler("sampling/createMessage", (request) => person.sample(request.params));
client.setRequestHandler("roots/list", () => person.roots());

const transport = reach(server, { StdioClientTransport, StreamableHTTPClientTransport, SSEClientTransport });

await run({ sdk, client, transport, person, scenario, connected: () => client.getNegotiatedProtocolVersion() });
