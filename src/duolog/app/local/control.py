"""Control socket of a running local cluster: JSON lines over a Unix socket."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

SOCKET_NAME = "control.sock"
_LINE_BYTES_MAX = 64 * 1024


class Order(msgspec.Struct, frozen=True):
    verb: str
    """One of kill, start and down."""
    node: int = 0


class Outcome(msgspec.Struct, frozen=True):
    done: bool
    text: str
    """The result, or the reason for a failure and its remedy."""


class NotRunning(Exception):
    """No cluster runs in the directory."""


Obey = Callable[[Order], Awaitable[Outcome]]


@contextmanager
def _short_path(directory: Path) -> Iterator[str]:
    """A path of the socket through a descriptor of its directory: the address of a Unix socket has
    room for 107 bytes only."""
    descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET_NAME}"
    finally:
        os.close(descriptor)


async def serve_control(directory: Path, obey: Obey) -> asyncio.Server:
    """Serve orders. Only this user can connect: the socket file has mode 0600."""
    (directory / SOCKET_NAME).unlink(missing_ok=True)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError, msgspec.DecodeError):
            order = msgspec.json.decode(await reader.readline(), type=Order)
            outcome = await obey(order)
            writer.write(msgspec.json.encode(outcome) + b"\n")
            await writer.drain()
        writer.close()

    with _short_path(directory) as path:
        server = await asyncio.start_unix_server(serve, path, limit=_LINE_BYTES_MAX)
    (directory / SOCKET_NAME).chmod(0o600)
    return server


async def give_order(directory: Path, order: Order) -> Outcome:
    """Send an order to the cluster's supervisor. Raises NotRunning."""
    try:
        with _short_path(directory) as path:
            reader, writer = await asyncio.open_unix_connection(path, limit=_LINE_BYTES_MAX)
        writer.write(msgspec.json.encode(order) + b"\n")
        answer = await reader.readline()
        writer.close()
        return msgspec.json.decode(answer, type=Outcome)
    except (OSError, msgspec.DecodeError) as error:
        raise NotRunning(f"no cluster runs in {directory}") from error
