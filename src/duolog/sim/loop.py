"""The event loop of one simulated process: its callbacks and timers lie in the world's queues.

A paused process keeps what becomes due until it is resumed, as after SIGSTOP. A dead one does
nothing more: its tasks are not cancelled, and none of their `finally` blocks run.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context
from math import ceil
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from duolog.sim.cpu import Cpu

if TYPE_CHECKING:
    from duolog.sim.world import World

T = TypeVar("T")

NS_PER_S = 1_000_000_000


class Streams(Protocol):
    """Connections that the simulated network makes for a loop."""

    async def connect(
        self, new_protocol: Callable[[], asyncio.BaseProtocol], host: str, port: int
    ) -> tuple[asyncio.BaseTransport, asyncio.BaseProtocol]: ...

    async def serve(
        self, new_protocol: Callable[[], asyncio.BaseProtocol], host: str, port: int
    ) -> Any: ...


class SimHandle(msgspec.Struct, eq=False):
    """Stands in for asyncio's handles; a msgspec Struct, because millions are made."""

    callback: Callable[..., object] | None
    """None once the handle was cancelled."""
    args: tuple[Any, ...]
    loop: "ProcessLoop"
    context: Context | None = None
    when_ns: int = 0

    def cancel(self) -> None:
        self.callback = None
        self.args = ()

    def cancelled(self) -> bool:
        return self.callback is None

    def when(self) -> float:
        return self.when_ns / NS_PER_S


class SimFuture(asyncio.Future[Any]):
    """A future that hashes by a number, not by its address, so that sets of futures have one
    order."""

    _loop: "ProcessLoop"
    _number: int | None = None
    """Assigned when first asked for: few futures are ever put into a set."""

    def __hash__(self) -> int:
        if self._number is None:
            self._number = self._loop.world.next_number()
        return self._number


class SimTask(asyncio.Task[Any]):
    """A task that hashes by a number, as SimFuture does."""

    _loop: "ProcessLoop"
    _number: int | None = None

    __hash__ = SimFuture.__hash__


class ProcessLoop(asyncio.AbstractEventLoop):
    def __init__(self, world: "World", name: str) -> None:
        self.world = world
        self.name = name
        self.is_held = False
        """True if callbacks must not run, because the process is paused or dead."""
        self.is_dead = False
        self.cpu = Cpu(world, self)
        self.free_ns = 0
        """Time at which the callback that ran last ends: others of this loop run after it."""
        self.is_late = False
        """True if callbacks wait for the loop to become free."""
        self.streams: Streams | None = None
        self._held: list[SimHandle] = []
        self._late: list[SimHandle] = []
        self._ready = world.ready
        world.loops.append(self)

    # Called by the simulation.

    def pause(self) -> None:
        self.is_held = True

    def resume(self) -> None:
        if not self.is_dead:
            self.is_held = False
            self._ready.extend(self._held)
            self._held.clear()

    def end(self) -> None:
        if not self.is_dead:
            self.is_held = self.is_dead = True
            # First: what is dropped next may be the last to refer to a task.
            self.world.bury(self)
            self._held.clear()
            self._late.clear()

    def hold(self, handle: SimHandle) -> None:
        if not self.is_dead:
            self._held.append(handle)

    def delay(self, handle: SimHandle) -> None:
        """Keep what became due while the loop is busy until it is free."""
        self._late.append(handle)
        if not self.is_late:
            self.is_late = True
            self.world.after(self.free_ns - self.world.now_ns, self._freed)

    def _freed(self) -> None:
        self.is_late = False
        self._ready.extend(self._late)
        self._late.clear()

    # Called by asyncio.

    def time(self) -> float:
        return self.world.now_ns / NS_PER_S

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> SimHandle:
        handle = SimHandle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon  # type: ignore[assignment]

    def call_later(  # type: ignore[override]
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> SimHandle:
        # Rounded up, so that a sleeper never wakes before its time.
        when_ns = self.world.now_ns + max(0, ceil(delay * NS_PER_S))
        handle = SimHandle(callback, args, self, context, when_ns)
        self.world.set_timer(handle)
        return handle

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> SimHandle:
        when_ns = ceil(when * NS_PER_S)
        if when_ns / NS_PER_S < when:
            # The product was rounded down; the sleeper would wake before its time.
            when_ns += 1
        handle = SimHandle(callback, args, self, context, max(self.world.now_ns, when_ns))
        self.world.set_timer(handle)
        return handle

    def create_future(self) -> "asyncio.Future[Any]":
        return SimFuture(loop=self)

    def create_task(  # type: ignore[override]
        self,
        coro: Coroutine[Any, Any, T],
        *,
        name: str | None = None,
        context: Context | None = None,
    ) -> "asyncio.Task[T]":
        return SimTask(coro, loop=self, name=name, context=context)

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., T], *args: Any
    ) -> "asyncio.Future[T]":
        """Run `func` at once, on the caller's stack; work that takes time goes through Disk."""
        done = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:
            done.set_exception(error)
        return done

    async def create_connection(  # type: ignore[override]
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        host: str,
        port: int,
        **_: Any,
    ) -> tuple[asyncio.BaseTransport, asyncio.BaseProtocol]:
        assert self.streams is not None, "this process has no network"
        return await self.streams.connect(protocol_factory, host, port)

    async def create_server(  # type: ignore[override]
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        host: str,
        port: int,
        **_: Any,
    ) -> Any:
        assert self.streams is not None, "this process has no network"
        return await self.streams.serve(protocol_factory, host, port)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if self.is_dead:
            return
        error = context.get("exception")
        where = f"{self.name} at {self.time():.6f} s"
        self.world.report(f"{where}: {context['message']}: {error!r}", error)

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return not self.is_dead

    def is_closed(self) -> bool:
        return self.is_dead

    async def shutdown_asyncgens(self) -> None:
        return


def new_loop(world: "World", name: str) -> ProcessLoop:
    # Parts that no simulated process needs (descriptors, signals, subprocesses) stay abstract.
    return ProcessLoop(world, name)  # type: ignore[abstract]
