// The fixed scenarios, written once for both TypeScript SDKs: their clients offer the same calls.
// One JSON object on stdout says what the SDK saw. Nothing is judged here: the Rust tests do that.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

// The SDKs are installed by `cargo xtask setup`, apart from the sources.
const tools = new URL("../../.tools/", import.meta.url);
export const load = createRequire(tools);

// Stdout is for the report alone; the SDKs write notes there.
console.log = console.debug = console.info = console.error;

// Longest wait for one request, for all of them together, and for the SDK to close.
const REQUEST_MS = 15_000;
const PROGRAM_MS = 60_000;
const CLOSE_MS = 10_000;
// A server that keeps handing out cursors stops here.
const MAX_PAGES = 50;

const wait = { timeout: REQUEST_MS };

export function versionOf(sdk) {
  return JSON.parse(readFileSync(new URL(`node_modules/${sdk}/package.json`, tools), "utf8")).version;
}

/** Reads `[options…] SCENARIO URL` or `[options…] SCENARIO -- COMMAND ARGS…`; leaves with status 2 when it is none. */
export function commandLine(options) {
  const given = process.argv.slice(2);
  const read = given.slice(0, options.length);
  const [scenario, second, command, ...args] = given.slice(options.length);
  const server = second === "--" ? command && { command, args } : !command && URL.canParse(second) && { url: new URL(second) };
  if (!server || !scenarios[scenario]) {
    const names = Object.keys(scenarios).join("|");
    console.error(`usage: node ${process.argv[1]} ${[...options, names].join(" ")} URL | -- COMMAND ARGS…`);
    process.exit(2);
  }
  return { options: read, scenario, server };
}

/** A way to the server: a process of its own, or HTTP. An address that ends in `/sse` is of the first revision's. */
export function reach({ url, command, args }, { StdioClientTransport, StreamableHTTPClientTransport, SSEClientTransport }) {
  if (!url) return new StdioClientTransport({ command, args, env: process.env });
  return url.pathname.endsWith("/sse") ? new SSEClientTransport(url) : new StreamableHTTPClientTransport(url);
}

/** Answers what a server may ask, as a person and a model would, and keeps what was asked meanwhile. */
export class Person {
  answer = () => ({ action: "cancel" });
  asked = [];

  elicit(params) {
    const { mode = "form", message, requestedSchema: schema, url } = params;
    this.asked.push({ mode, message, schema, url });
    return this.answer(params);
  }

  sample(params) {
    this.asked.push({ mode: "sampling", message: params.messages[0].content.text });
    return { role: "assistant", model: "a-model", content: { type: "text", text: "Hello." } };
  }

  roots() {
    this.asked.push({ mode: "roots" });
    return { roots: [{ uri: "file:///here" }] };
  }
}

export const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

/**
 * Connects, runs the scenario, closes, prints the report and leaves: 0 when every step went well, else 1.
 * `connected` tells the protocol version once the client is connected.
 */
export async function run({ sdk, client, transport, person, scenario, connected }) {
  const report = { sdk, version: versionOf(sdk), scenario, protocol: null, server: null, steps: [], complaints: [] };
  let closing;
  client.onerror = (error) => {
    // Over HTTP an SDK complains of the streams that it breaks itself in order to close.
    if (!closing || !/abort/i.test(told(error))) report.complaints.push(told(error));
  };
  const heard = new Heard();
  client.fallbackNotificationHandler = async (notification) => heard.take(notification);

  const work = async () => {
    await client.connect(transport, wait);
    report.protocol = connected() ?? null;
    report.server = client.getServerVersion() ?? null;
    report.capabilities = client.getServerCapabilities() ?? null;
    report.instructions = client.getInstructions() ?? null;
    await scenarios[scenario](client, steps(report, person), person, heard);
  };
  try {
    await within(PROGRAM_MS, work());
  } catch (error) {
    report.error = told(error);
  }
  closing = Date.now();
  const close = async () => {
    // Over HTTP a session outlives its connections, so it is ended by a request of its own.
    await transport.terminateSession?.();
    await client.close();
  };
  await within(CLOSE_MS, close()).catch((error) => report.complaints.push(told(error)));
  report.close_ms = Date.now() - closing;
  finish(report);
}

async function within(ms, work) {
  let timer;
  const late = new Promise((_, fail) => {
    timer = setTimeout(() => fail(new Error(`no end after ${ms} ms`)), ms);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

function finish(report) {
  const good = !report.error && report.steps.every((step) => step.ok);
  process.stdout.write(`${JSON.stringify(report)}\n`, () => process.exit(good ? 0 : 1));
}

function told(error) {
  const code = error?.code === undefined ? "" : ` (code ${error.code})`;
  return `${error?.name ?? "Error"}: ${error?.message ?? error}${code}`;
}

/** What a server says beside its answers. */
class Heard {
  notifications = [];
  wake = () => {};

  take(notification) {
    this.notifications.push(notification);
    this.wake();
  }

  of(method) {
    return this.notifications.filter((notification) => notification.method === method).map(({ params }) => params);
  }

  /** Waits for so many of one method; fewer are returned when they do not come. */
  async atLeast(count, method) {
    const enough = new Promise((done) => {
      this.wake = () => this.of(method).length >= count && done();
      this.wake();
    });
    await within(REQUEST_MS, enough).catch(() => {});
    return this.of(method);
  }
}

/** A step that throws is reported, and the next one runs all the same. */
function steps(report, person) {
  return async (name, body) => {
    const step = { step: name, ok: true };
    person.asked = [];
    try {
      step.result = await body();
    } catch (error) {
      step.ok = false;
      step.error = told(error);
      if (error?.code !== undefined) step.code = error.code;
    }
    if (person.asked.length > 0) step.asked = person.asked;
    report.steps.push(step);
    return step.result;
  };
}

async function all(list, field) {
  const found = [];
  let cursor;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const answer = await list(cursor === undefined ? undefined : { cursor }, wait);
    found.push(...answer[field]);
    cursor = answer.nextCursor;
    if (cursor === undefined) return found;
  }
  throw new Error(`more than ${MAX_PAGES} pages of ${field}`);
}

const listTools = (client) => async () => ({ tools: await all(client.listTools.bind(client), "tools") });

async function call(client, name, args, { meta, ...more } = {}) {
  const params = { name, arguments: args, ...(meta && { _meta: meta }) };
  const options = { ...wait, ...more };
  // The older SDK takes a result schema before the options.
  const answer = await client.callTool(params, ...(client.getProtocolEra ? [options] : [undefined, options]));
  return {
    text: answer.content.filter((block) => block.type === "text").map((block) => block.text).join("\n"),
    content: answer.content.map((block) => block.type),
    structuredContent: answer.structuredContent ?? null,
    isError: answer.isError ?? false,
  };
}

async function read(client, uri) {
  const answer = await client.readResource({ uri }, wait);
  return {
    contents: answer.contents.map((part) => {
      const body = part.text ?? part.blob ?? "";
      const letters = [...body];
      return {
        uri: part.uri,
        mimeType: part.mimeType ?? null,
        kind: part.text === undefined ? "blob" : "text",
        length: letters.length,
        start: letters.slice(0, 200).join(""),
      };
    }),
  };
}

function firstOf(items, kind) {
  if (!items?.length) throw new Error(`the server offers no ${kind}`);
  return items[0];
}

const scenarios = {
  async weather(client, step) {
    await step("list tools", listTools(client));
    await step("call get_weather Seoul", () => call(client, "get_weather", { city: "Seoul" }));
    await step("call get_weather Nowhereville", () => call(client, "get_weather", { city: "Nowhereville" }));
    const listed = await step("list resources", async () => ({
      resources: await all(client.listResources.bind(client), "resources"),
    }));
    await step("read first resource", () => read(client, firstOf(listed?.resources, "resource").uri));
    const offered = await step("list prompts", async () => ({
      prompts: await all(client.listPrompts.bind(client), "prompts"),
    }));
    await step("get first prompt", async () => {
      const { name } = firstOf(offered?.prompts, "prompt");
      const answer = await client.getPrompt({ name, arguments: { city: "Seoul" } }, wait);
      return { name, description: answer.description ?? null, messages: answer.messages };
    });
    await step("complete city", async () => {
      const { name } = firstOf(offered?.prompts, "prompt");
      const asked = { ref: { type: "ref/prompt", name }, argument: { name: "city", value: "Se" } };
      return (await client.complete(asked, wait)).completion;
    });
  },

  async orders(client, step, person) {
    await step("list tools", listTools(client));
    await step("call count_orders", () => call(client, "count_orders", {}));
    await step("call count_orders paid", () => call(client, "count_orders", { status: "paid" }));
    const page = await step("call list_orders first page", () => call(client, "list_orders", { limit: 5 }));
    const cursor = page?.structuredContent?.next_cursor;
    if (cursor !== undefined && cursor !== null) {
      await step("call list_orders next page", () => call(client, "list_orders", { limit: 5, cursor }));
    }
    await step("call get_order 1", () => call(client, "get_order", { id: 1 }));
    await step("list resource templates", async () => ({
      resourceTemplates: await all(client.listResourceTemplates.bind(client), "resourceTemplates"),
    }));
    await step("read orders://order/1", () => read(client, "orders://order/1"));
    person.answer = () => ({ action: "accept", content: { confirm: true } });
    await step("call cancel_order 2 accepting", () => call(client, "cancel_order", { id: 2 }));
    person.answer = () => ({ action: "decline" });
    await step("call cancel_order 3 declining", () => call(client, "cancel_order", { id: 3 }));
  },

  async traffic(client, step, person, heard) {
    const isModern = client.getProtocolEra?.() === "modern";
    const meta = isModern ? { "io.modelcontextprotocol/logLevel": "info" } : undefined;
    person.answer = (params) => {
      if (params.mode === "url") return { action: "accept" };
      const isOrder = params.requestedSchema.properties.size;
      return { action: "accept", content: isOrder ? { size: "large", count: 2 } : { confirm: true } };
    };
    await step("list tools", listTools(client));
    if (!isModern) await step("set the log level", () => client.setLoggingLevel("info", wait));
    await step("call work", async () => {
      const progress = [];
      const onprogress = (made) => progress.push(made.progress);
      const answer = await call(client, "work", {}, { meta, onprogress });
      return { ...answer, progress, logs: await heard.atLeast(3, "notifications/message") };
    });
    for (const tool of ["order", "visit", "sample", "roots"]) {
      await step(`call ${tool}`, () => call(client, tool, {}));
    }
    await step("hear changes", async () => {
      const uri = "note://one";
      const filter = { toolsListChanged: true, resourceSubscriptions: [uri] };
      const subscription = isModern ? await client.listen(filter, wait) : await client.subscribeResource({ uri }, wait);
      await call(client, "grow", {});
      const lists = await heard.atLeast(1, "notifications/tools/list_changed");
      const resources = await heard.atLeast(1, "notifications/resources/updated");
      if (isModern) await subscription.close();
      return { lists: lists.length, uris: resources.map((params) => params.uri) };
    });
    await step("list tools anew", listTools(client));
  },
};
