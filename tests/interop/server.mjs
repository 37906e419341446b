// A server on the TypeScript SDK 1.x, which speaks the handshake revisions only.
// usage: node server.mjs stateful|stateless
// stateful: sessions, streams, and what was missed on request; stateless: no session, and JSON answers only.

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { Kept, NOTE, RETRY_MS, listen, load, mode, namesLike } from "./serving.mjs";

const sdk = "@modelcontextprotocol/sdk";
const { McpServer } = load(`${sdk}/server/mcp.js`);
const { completable } = load(`${sdk}/server/completable.js`);
const { StreamableHTTPServerTransport } = load(`${sdk}/server/streamableHttp.js`);
const { ListRootsResultSchema, SubscribeRequestSchema } = load(`${sdk}/types.js`);
const { z } = load("zod");

const text = (words) => ({ content: [{ type: "text", text: words }] });

function foreign() {
  const capabilities = { logging: {}, resources: { subscribe: true } };
  const server = new McpServer({ name: "foreign", version: "1.0.0" }, { capabilities, instructions: "Use everything once." });

  const progress = (extra, step, total) => {
    const token = extra._meta?.progressToken;
    const params = { progressToken: token, progress: step, total };
    return token === undefined ? undefined : extra.sendNotification({ method: "notifications/progress", params });
  };

  server.registerTool("echo", { inputSchema: { text: z.string() } }, (ask) => text(ask.text));
  server.registerTool(
    "add",
    { inputSchema: { a: z.number().int(), b: z.number().int() }, outputSchema: { sum: z.number().int() } },
    ({ a, b }) => ({ ...text(JSON.stringify({ sum: a + b })), structuredContent: { sum: a + b } }),
  );
  server.registerTool("fail", {}, () => ({ ...text("it did not work"), isError: true }));
  server.registerTool("work", {}, async (extra) => {
    for (const step of [1, 2, 3]) {
      await progress(extra, step, 3);
      await extra.sendNotification({ method: "notifications/message", params: { level: "info", data: { step } } });
    }
    return text("worked");
  });
  server.registerTool("confirm", {}, async (extra) => {
    const requestedSchema = { type: "object", properties: { confirm: { type: "boolean" } }, required: ["confirm"] };
    const ask = { message: "Really?", requestedSchema };
    const answer = await server.server.elicitInput(ask, { relatedRequestId: extra.requestId });
    return text(answer.content?.confirm ? "confirmed" : "not confirmed");
  });
  server.registerTool("sample", {}, async (extra) => {
    const messages = [{ role: "user", content: { type: "text", text: "Say hello." } }];
    const answer = await server.server.createMessage({ messages, maxTokens: 10 }, { relatedRequestId: extra.requestId });
    return text(answer.model);
  });
  server.registerTool("roots", {}, async (extra) => {
    const listed = await extra.sendRequest({ method: "roots/list" }, ListRootsResultSchema);
    return text(listed.roots.map((root) => root.uri).join(","));
  });
  server.registerTool("grow", {}, async () => {
    server.registerTool("grown", {}, () => text("new"));
    await server.server.sendResourceUpdated({ uri: NOTE });
    return text("grown");
  });
  // Breaks off the stream of its own answer where it can; the client has to come back for it.
  server.registerTool("polled", {}, async (extra) => {
    await progress(extra, 1, 2);
    extra.closeSSEStream?.();
    await progress(extra, 2, 2);
    return text(extra.closeSSEStream ? "broken off" : "whole");
  });
  server.registerResource("one", NOTE, { mimeType: "text/plain" }, () => ({
    contents: [{ uri: NOTE, mimeType: "text/plain", text: "first" }],
  }));
  server.server.setRequestHandler(SubscribeRequestSchema, () => ({}));
  server.registerPrompt("greet", { argsSchema: { name: completable(z.string(), namesLike) } }, ({ name }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Greet ${name}.` } }],
  }));
  return server;
}

const sessions = new Map();

async function transportFor(request) {
  const id = request.headers["mcp-session-id"];
  if (id !== undefined) return sessions.get(id);
  const transport = new StreamableHTTPServerTransport(
    mode === "stateless"
      ? { sessionIdGenerator: undefined, enableJsonResponse: true }
      : {
          sessionIdGenerator: randomUUID,
          eventStore: new Kept(),
          retryInterval: RETRY_MS,
          onsessioninitialized: (opened) => sessions.set(opened, transport),
          onsessionclosed: (closed) => sessions.delete(closed),
        },
  );
  await foreign().connect(transport);
  return transport;
}

listen(
  createServer(async (request, response) => {
    const transport = await transportFor(request);
    if (transport) await transport.handleRequest(request, response);
    else response.writeHead(404).end();
  }),
);
