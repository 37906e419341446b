// A server on the split TypeScript SDK (2.x), which serves both eras on one address.
// usage: node servermodern.mjs stateful|stateless
// stateful: legacy clients get a session, streams, and what they missed; stateless: none of that, and JSON answers only.

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { Kept, NOTE, RETRY_MS, listen, load, mode, namesLike } from "./serving.mjs";

const {
  McpServer,
  WebStandardStreamableHTTPServerTransport,
  acceptedContent,
  completable,
  createMcpHandler,
  inputRequired,
  inputResponse,
  isLegacyRequest,
} = load("@modelcontextprotocol/server");
const { getRequestListener } = load("@hono/node-server");
const { z } = load("zod");

const none = z.object({});
const text = (words) => ({ content: [{ type: "text", text: words }] });
const ask = (request) => inputRequired({ inputRequests: { it: request } });

let hasGrown = false;

function foreign() {
  const capabilities = { logging: {}, tools: { listChanged: true }, resources: { subscribe: true, listChanged: true } };
  const server = new McpServer({ name: "foreign", version: "1.0.0" }, { capabilities, instructions: "Use everything once." });

  const progress = (ctx, step, total) => {
    const token = ctx.mcpReq._meta?.progressToken;
    const params = { progressToken: token, progress: step, total };
    return token === undefined ? undefined : ctx.mcpReq.notify({ method: "notifications/progress", params });
  };
  const registerGrown = () => server.registerTool("grown", { inputSchema: none }, () => text("new"));

  server.registerTool("echo", { inputSchema: z.object({ text: z.string() }) }, (given) => text(given.text));
  server.registerTool(
    "add",
    {
      inputSchema: z.object({ a: z.number().int(), b: z.number().int() }),
      outputSchema: z.object({ sum: z.number().int() }),
    },
    ({ a, b }) => ({ ...text(JSON.stringify({ sum: a + b })), structuredContent: { sum: a + b } }),
  );
  server.registerTool("fail", { inputSchema: none }, () => ({ ...text("it did not work"), isError: true }));
  server.registerTool("work", { inputSchema: none }, async (_, ctx) => {
    for (const step of [1, 2, 3]) {
      await progress(ctx, step, 3);
      await ctx.mcpReq.log("info", { step });
    }
    return text("worked");
  });
  // Questions are returned: the SDK sends them as requests to legacy clients.
  const sure = z.object({ confirm: z.boolean() });
  server.registerTool("confirm", { inputSchema: none }, (_, ctx) => {
    const answer = inputResponse(ctx.mcpReq.inputResponses, "it");
    if (answer.kind === "missing") return ask(inputRequired.elicit({ message: "Really?", requestedSchema: sure }));
    const accepted = acceptedContent(ctx.mcpReq.inputResponses, "it", sure);
    return text(accepted?.confirm ? "confirmed" : "not confirmed");
  });
  server.registerTool("sample", { inputSchema: none }, (_, ctx) => {
    const answer = inputResponse(ctx.mcpReq.inputResponses, "it");
    const messages = [{ role: "user", content: { type: "text", text: "Say hello." } }];
    return answer.kind === "sampling"
      ? text(answer.result.model)
      : ask(inputRequired.createMessage({ messages, maxTokens: 10 }));
  });
  server.registerTool("roots", { inputSchema: none }, (_, ctx) => {
    const answer = inputResponse(ctx.mcpReq.inputResponses, "it");
    return answer.kind === "roots"
      ? text(answer.roots.map((root) => root.uri).join(","))
      : ask(inputRequired.listRoots());
  });
  server.registerTool("grow", { inputSchema: none }, async () => {
    hasGrown = true;
    // A modern client hears of it on its stream, a legacy one in its session.
    handler.notify.toolsChanged();
    handler.notify.resourceUpdated(NOTE);
    if (server.server.transport?.sessionId) {
      grown ??= registerGrown();
      server.sendToolListChanged();
      await server.server.sendResourceUpdated({ uri: NOTE });
    }
    return text("grown");
  });
  // Breaks off the stream of its own answer where it can; the client has to come back for it.
  server.registerTool("polled", { inputSchema: none }, async (_, ctx) => {
    await progress(ctx, 1, 2);
    ctx.http?.closeSSE?.();
    await progress(ctx, 2, 2);
    return text(ctx.http?.closeSSE ? "broken off" : "whole");
  });
  let grown = hasGrown ? registerGrown() : undefined;
  server.registerResource("one", NOTE, { mimeType: "text/plain" }, () => ({
    contents: [{ uri: NOTE, mimeType: "text/plain", text: "first" }],
  }));
  server.server.setRequestHandler("resources/subscribe", () => ({}));
  server.registerPrompt("greet", { argsSchema: z.object({ name: completable(z.string(), namesLike) }) }, ({ name }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Greet ${name}.` } }],
  }));
  return server;
}

const handler = createMcpHandler(
  foreign,
  mode === "stateless" ? { legacy: "stateless", responseMode: "json" } : { legacy: "reject" },
);
const sessions = new Map();

async function session(request) {
  const id = request.headers.get("mcp-session-id");
  if (id !== null) return sessions.get(id)?.handleRequest(request) ?? new Response(null, { status: 404 });
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    eventStore: new Kept(),
    retryInterval: RETRY_MS,
    onsessioninitialized: (opened) => void sessions.set(opened, transport),
    onsessionclosed: (closed) => void sessions.delete(closed),
  });
  await foreign().connect(transport);
  return transport.handleRequest(request);
}

const serve = async (request) =>
  mode === "stateful" && (await isLegacyRequest(request)) ? session(request) : handler.fetch(request);

listen(createServer(getRequestListener(serve)));
