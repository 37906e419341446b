"""Drives a server with the Python SDK 2.x, which speaks both eras.

usage: python client.py ERA SCENARIO URL | -- COMMAND ARGS…
An address that ends in /sse is reached by the transport of the first revision.
ERA: legacy (handshake), auto (probe, then decide), modern (no probe: the first request is already modern).

One JSON object on stdout says what the SDK saw. Nothing is judged here: the Rust tests do that.
"""

import json
import logging
import os
import sys
import time
from importlib.metadata import version

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.shared.exceptions import MCPError
from mcp.types import (
    CreateMessageResult,
    ElicitResult,
    Implementation,
    ListRootsResult,
    PromptReference,
    Root,
    TextContent,
)

SDK = "mcp"
MODES = {"legacy": "legacy", "auto": "auto", "modern": "2026-07-28"}
# What is asked for in either era; each has its own way to ask.
LOG_LEVEL = "info"
# Longest wait for one request, and for the whole program.
REQUEST_SECONDS = 15.0
PROGRAM_SECONDS = 60.0
# A server that keeps handing out cursors stops here.
MAX_PAGES = 50


class Person:
    """Answers what a server may ask, as a person and a model would, and keeps what was asked meanwhile."""

    def __init__(self):
        self.answer = lambda _shown: ElicitResult(action="cancel")
        self.asked = []

    async def elicit(self, _context, params):
        shown = plain(params)
        self.asked.append(
            {
                "mode": shown.get("mode", "form"),
                "message": shown.get("message"),
                "schema": shown.get("requestedSchema"),
                "url": shown.get("url"),
            }
        )
        return self.answer(shown)

    async def sample(self, _context, params):
        self.asked.append({"mode": "sampling", "message": plain(params)["messages"][0]["content"]["text"]})
        return CreateMessageResult(role="assistant", model="a-model", content=TextContent(type="text", text="Hello."))

    async def roots(self, _context):
        self.asked.append({"mode": "roots"})
        return ListRootsResult(roots=[Root(uri="file:///here")])


class Heard:
    """What a server says beside its answers."""

    def __init__(self):
        self.notifications = []
        self.wake = anyio.Event()

    def take(self, notification):
        self.notifications.append(plain(notification))
        self.wake.set()

    async def at_least(self, count, method):
        """Waits for so many of one method; fewer are returned when they do not come."""
        with anyio.move_on_after(REQUEST_SECONDS):
            while len(self.of(method)) < count:
                self.wake = anyio.Event()
                await self.wake.wait()
        return self.of(method)

    def of(self, method):
        return [notification.get("params") for notification in self.notifications if notification["method"] == method]


class Complaints(logging.Handler):
    """What the SDK warns of belongs into the report, not onto stderr."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


class Steps:
    """A step that throws is reported, and the next one runs all the same."""

    def __init__(self, person):
        self.person = person
        self.taken = []

    async def take(self, name, body):
        step = {"step": name, "ok": True}
        self.person.asked = []
        try:
            step["result"] = await body()
        except Exception as error:
            step["ok"] = False
            step["error"] = told(error)
            if isinstance(error, MCPError):
                step["code"] = error.code
        if self.person.asked:
            step["asked"] = self.person.asked
        self.taken.append(step)
        return step.get("result")


def plain(model):
    return model.model_dump(by_alias=True, exclude_none=True, mode="json")


def told(error):
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(told(inner) for inner in error.exceptions)
    code = f" (code {error.code})" if isinstance(error, MCPError) else ""
    return f"{type(error).__name__}: {error}{code}"


def first_of(items, kind):
    if not items:
        raise LookupError(f"the server offers no {kind}")
    return items[0]


async def every(ask, field):
    """All pages of one listing."""
    found, cursor = [], None
    for _ in range(MAX_PAGES):
        page = plain(await ask(cursor=cursor))
        found += page[field]
        cursor = page.get("nextCursor")
        if cursor is None:
            return {field: found}
    raise RuntimeError(f"more than {MAX_PAGES} pages of {field}")


async def call(client, name, arguments, **options):
    answer = plain(await client.call_tool(name, arguments, **options))
    content = answer.get("content", [])
    return {
        "text": "\n".join(block["text"] for block in content if block["type"] == "text"),
        "content": [block["type"] for block in content],
        "structuredContent": answer.get("structuredContent"),
        "isError": answer.get("isError", False),
    }


async def read(client, uri):
    answer = plain(await client.read_resource(uri))
    contents = []
    for part in answer["contents"]:
        body = part.get("text", part.get("blob", ""))
        contents.append(
            {
                "uri": part["uri"],
                "mimeType": part.get("mimeType"),
                "kind": "text" if "text" in part else "blob",
                "length": len(body),
                "start": body[:200],
            }
        )
    return {"contents": contents}


async def weather(client, steps, *_):
    await steps.take("list tools", lambda: every(client.list_tools, "tools"))
    await steps.take("call get_weather Seoul", lambda: call(client, "get_weather", {"city": "Seoul"}))
    await steps.take("call get_weather Nowhereville", lambda: call(client, "get_weather", {"city": "Nowhereville"}))
    listed = await steps.take("list resources", lambda: every(client.list_resources, "resources")) or {}

    async def read_first():
        return await read(client, first_of(listed.get("resources"), "resource")["uri"])

    await steps.take("read first resource", read_first)
    offered = await steps.take("list prompts", lambda: every(client.list_prompts, "prompts")) or {}

    async def get_first_prompt():
        name = first_of(offered.get("prompts"), "prompt")["name"]
        answer = plain(await client.get_prompt(name, {"city": "Seoul"}))
        return {"name": name, "description": answer.get("description"), "messages": answer["messages"]}

    async def complete_city():
        name = first_of(offered.get("prompts"), "prompt")["name"]
        answer = await client.complete(PromptReference(type="ref/prompt", name=name), {"name": "city", "value": "Se"})
        return plain(answer)["completion"]

    await steps.take("get first prompt", get_first_prompt)
    await steps.take("complete city", complete_city)


async def orders(client, steps, person, _heard):
    await steps.take("list tools", lambda: every(client.list_tools, "tools"))
    await steps.take("call count_orders", lambda: call(client, "count_orders", {}))
    await steps.take("call count_orders paid", lambda: call(client, "count_orders", {"status": "paid"}))
    page = await steps.take("call list_orders first page", lambda: call(client, "list_orders", {"limit": 5}))
    cursor = ((page or {}).get("structuredContent") or {}).get("next_cursor")
    if cursor is not None:
        await steps.take(
            "call list_orders next page", lambda: call(client, "list_orders", {"limit": 5, "cursor": cursor})
        )
    await steps.take("call get_order 1", lambda: call(client, "get_order", {"id": 1}))
    await steps.take(
        "list resource templates", lambda: every(client.list_resource_templates, "resourceTemplates")
    )
    await steps.take("read orders://order/1", lambda: read(client, "orders://order/1"))
    person.answer = lambda _shown: ElicitResult(action="accept", content={"confirm": True})
    await steps.take("call cancel_order 2 accepting", lambda: call(client, "cancel_order", {"id": 2}))
    person.answer = lambda _shown: ElicitResult(action="decline")
    await steps.take("call cancel_order 3 declining", lambda: call(client, "cancel_order", {"id": 3}))


def fill(shown):
    """What a person puts into the forms of the server."""
    if shown.get("mode") == "url":
        return ElicitResult(action="accept")
    is_order = "size" in shown["requestedSchema"]["properties"]
    return ElicitResult(action="accept", content={"size": "large", "count": 2} if is_order else {"confirm": True})


async def traffic(client, steps, person, heard):
    is_modern = client.protocol_version == MODES["modern"]
    person.answer = fill
    await steps.take("list tools", lambda: every(client.list_tools, "tools"))
    if not is_modern:
        await steps.take("set the log level", lambda: set_log_level(client))

    async def work():
        progress = []

        async def made(value, _total, _message):
            progress.append(value)

        answer = await call(client, "work", {}, progress_callback=made)
        return answer | {"progress": progress, "logs": await heard.at_least(3, "notifications/message")}

    await steps.take("call work", work)
    for tool in ["order", "visit", "sample", "roots"]:
        await steps.take(f"call {tool}", lambda tool=tool: call(client, tool, {}))

    async def grow():
        await call(client, "grow", {})
        lists = await heard.at_least(1, "notifications/tools/list_changed")
        resources = await heard.at_least(1, "notifications/resources/updated")
        return {"lists": len(lists), "uris": [params["uri"] for params in resources]}

    async def hear_changes():
        uri = "note://one"
        if is_modern:
            async with client.listen(tools_list_changed=True, resource_subscriptions=[uri]):
                return await grow()
        await client.subscribe_resource(uri)
        return await grow()

    await steps.take("hear changes", hear_changes)
    await steps.take("list tools anew", lambda: every(client.list_tools, "tools"))


async def set_log_level(client):
    return plain(await client.set_logging_level(LOG_LEVEL))


SCENARIOS = {"weather": weather, "orders": orders, "traffic": traffic}


def reach(server):
    """What the SDK's client takes: the address, a transport, or a command to start."""
    if isinstance(server, str):
        return sse_client(server) if server.endswith("/sse") else server
    command, *args = server
    return StdioServerParameters(command=command, args=args, env=dict(os.environ))


async def run(era, scenario, server):
    person, complaints, heard = Person(), Complaints(), Heard()

    async def hear(message):
        if isinstance(message, Exception):
            complaints.lines.append(told(message))
        else:
            heard.take(message)

    logging.basicConfig(handlers=[complaints])
    steps = Steps(person)
    report = {"sdk": SDK, "version": version(SDK), "scenario": scenario, "protocol": None, "server": None}
    closing = None
    try:
        with anyio.fail_after(PROGRAM_SECONDS):
            async with Client(
                reach(server),
                mode=MODES[era],
                client_info=Implementation(name="interop-python", version="1.0.0"),
                read_timeout_seconds=REQUEST_SECONDS,
                elicitation_callback=person.elicit,
                sampling_callback=person.sample,
                list_roots_callback=person.roots,
                log_level=LOG_LEVEL,
                message_handler=hear,
            ) as client:
                report["protocol"] = client.protocol_version
                if era == "modern":
                    # Nothing was asked yet, so who the server is has to be asked for.
                    report |= await discover(client, steps)
                else:
                    report["server"] = plain(client.server_info) if client.server_info else None
                    report["capabilities"] = plain(client.server_capabilities)
                    report["instructions"] = client.instructions
                await SCENARIOS[scenario](client, steps, person, heard)
                closing = time.monotonic()
        report["close_ms"] = round((time.monotonic() - closing) * 1000)
    except TimeoutError:
        report["error"] = f"no end after {PROGRAM_SECONDS:.0f} s"
    except Exception as error:
        report["error"] = told(error)
    report["steps"] = steps.taken
    report["complaints"] = complaints.lines
    print(json.dumps(report, ensure_ascii=True))
    good = "error" not in report and all(step["ok"] for step in steps.taken)
    return 0 if good else 1


async def discover(client, steps):
    async def ask():
        return await client.session.send_discover(MODES["modern"])

    answer = await steps.take("discover", ask) or {}
    return {
        "server": answer.get("_meta", {}).get("io.modelcontextprotocol/serverInfo"),
        "capabilities": answer.get("capabilities"),
        "instructions": answer.get("instructions"),
    }


def command_line(given):
    """The era, the scenario and the server: an address, or a command as a list. Nothing if it is none."""
    match given:
        case [era, scenario, "--", *command] if command and era in MODES and scenario in SCENARIOS:
            return era, scenario, command
        case [era, scenario, url] if "://" in url and era in MODES and scenario in SCENARIOS:
            return era, scenario, url


def main():
    wanted = command_line(sys.argv[1:])
    if wanted is None:
        eras, scenarios = "|".join(MODES), "|".join(SCENARIOS)
        print(f"usage: python {sys.argv[0]} {eras} {scenarios} URL | -- COMMAND ARGS…", file=sys.stderr)
        return 2
    return anyio.run(run, *wanted)


if __name__ == "__main__":
    sys.exit(main())
