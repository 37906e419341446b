"""A server on the Python SDK 2.x, which serves both eras on one address.

usage: python server.py stateful|stateless|sse
stateful: legacy clients get a session, streams, and what they missed; stateless: no session, and JSON answers only;
sse: the transport of the first revision. It listens on a free port of this machine, which it tells on stderr.
"""

import sys
from typing import Annotated

from mcp.server.mcpserver import Context, Elicit, ListRoots, MCPServer, Resolve, Sample
from mcp.server.streamable_http import EventMessage, EventStore
from mcp.types import Completion, CreateMessageResult, ListRootsResult, SamplingMessage, TextContent
from pydantic import BaseModel

NOTE = "note://one"
RETRY_MS = 100

server = MCPServer("foreign", version="1.0.0", instructions="Use everything once.")


class Sum(BaseModel):
    sum: int


class Confirm(BaseModel):
    confirm: bool


@server.tool()
def echo(text: str) -> str:
    return text


@server.tool()
def add(a: int, b: int) -> Sum:
    return Sum(sum=a + b)


@server.tool()
def fail() -> str:
    raise ValueError("it did not work")


@server.tool()
async def work(context: Context) -> str:
    for step in range(1, 4):
        await context.report_progress(step, 3, "working")
        await context.info({"step": step})
    return "worked"


async def ask_to_confirm() -> Elicit[Confirm]:
    return Elicit("Really?", Confirm)


@server.tool()
async def confirm(answer: Annotated[Confirm, Resolve(ask_to_confirm)]) -> str:
    return "confirmed" if answer.confirm else "not confirmed"


async def say_hello() -> Sample:
    ask = SamplingMessage(role="user", content=TextContent(type="text", text="Say hello."))
    return Sample([ask], max_tokens=10)


@server.tool()
async def sample(answer: Annotated[CreateMessageResult, Resolve(say_hello)]) -> str:
    return answer.model


async def list_roots() -> ListRoots:
    return ListRoots()


@server.tool()
async def roots(listed: Annotated[ListRootsResult, Resolve(list_roots)]) -> str:
    return ",".join(str(root.uri) for root in listed.roots)


@server.tool()
async def grow(context: Context) -> str:
    server.add_tool(lambda: "new", name="grown")
    await context.notify_tools_changed()
    await context.notify_resource_updated(NOTE)
    return "grown"


@server.tool()
async def polled(context: Context) -> str:
    """Breaks off the stream of its own answer where it can; the client has to come back for it."""
    await context.report_progress(1, 2, "before")
    can = context.request_context.close_sse_stream is not None
    await context.close_sse_stream()
    await context.report_progress(2, 2, "after")
    return "broken off" if can else "whole"


@server.resource(NOTE, name="one", mime_type="text/plain")
def note() -> str:
    return "first"


@server.prompt()
def greet(name: str) -> str:
    return f"Greet {name}."


@server.completion()
async def complete(_ref, argument, _context):
    return Completion(values=[name for name in ["Ann", "Anna", "Bob"] if name.startswith(argument.value)])


class Kept(EventStore):
    """Everything that was sent, for clients that come back."""

    def __init__(self):
        self.events = []

    async def store_event(self, stream_id, message):
        self.events.append((stream_id, message))
        return str(len(self.events))

    async def replay_events_after(self, last_event_id, send_callback):
        last = int(last_event_id)
        stream = self.events[last - 1][0]
        for number, (stream_id, message) in enumerate(self.events[last:], last + 1):
            if stream_id == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


def main():
    match sys.argv[1:]:
        case ["stateful"]:
            server.run("streamable-http", port=0, event_store=Kept(), retry_interval=RETRY_MS)
        case ["stateless"]:
            server.run("streamable-http", port=0, stateless_http=True, json_response=True)
        case ["sse"]:
            server.run("sse", port=0)
        case _:
            print(f"usage: python {sys.argv[0]} stateful|stateless|sse", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
