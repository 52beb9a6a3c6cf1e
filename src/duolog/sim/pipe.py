"""One direction of a connection: bytes in order, late, held up while a link is cut, never lost.

TCP turns a bad network into exactly this. An end of the stream is a mark among the bytes, orderly
(END) or not (RESET).
"""

from collections import deque
from enum import Enum
from typing import Protocol

from duolog.sim.links import Links
from duolog.sim.loop import ProcessLoop
from duolog.sim.world import World

BUFFER_BYTES = 256 * 1024
"""Size of both kernels' socket buffers together; anything beyond is the sender's backlog."""


class Mark(Enum):
    END = "the other side has closed"
    RESET = "the other side is gone"


class Receiver(Protocol):
    def arrived(self, data: bytes) -> None: ...

    def ended(self, mark: Mark) -> None: ...


class Sender(Protocol):
    def emptied(self) -> None: ...

    def ended(self, mark: Mark) -> None: ...


class Pipe:
    def __init__(
        self,
        world: World,
        links: Links,
        ends: tuple[str, str],
        loops: tuple[ProcessLoop, ProcessLoop],
    ) -> None:
        self._world = world
        self._links = links
        self._source, self._target = ends
        self._sending, self._receiving = loops
        self.sender: Sender | None = None
        self.receiver: Receiver | None = None
        """None once the receiving end is gone."""
        self._queue: deque[tuple[int, bytes | Mark]] = deque()
        self._last_ns = 0
        self._armed = False
        self._stalled = False
        self._paused = False
        self._bytes = 0
        self._was_full = False

    @property
    def backlog_bytes(self) -> int:
        return max(0, self._bytes - BUFFER_BYTES)

    def send(self, item: bytes | Mark) -> None:
        now_ns = self._world.now_ns
        due_ns = now_ns + self._links.latency_ns(self._source, self._target)
        self._last_ns = due_ns = max(due_ns, self._last_ns)
        self._queue.append((due_ns, item))
        if not isinstance(item, Mark):
            self._bytes += len(item)
            self._was_full = self._was_full or self._bytes > BUFFER_BYTES
        if not self._armed and not self._stalled and not self._paused:
            self._arm(due_ns - now_ns)

    def pause(self) -> None:
        self._paused = True

    def resume(self) -> None:
        if self._paused:
            self._paused = False
            if self._queue and not self._armed and not self._stalled:
                self._arm(self._queue[0][0] - self._world.now_ns)

    def drop(self) -> None:
        """Detach the receiver; the sender learns of it when its data arrives."""
        self.receiver = None
        self._paused = False
        # The timer that is set may belong to a dead process, which would never run it.
        self._armed = False
        if self._queue and not self._stalled:
            self._arm(self._queue[0][0] - self._world.now_ns)

    def _retry(self) -> None:
        """Send lost bytes again, a while after the link was repaired."""
        if not self._links.lets_through(self._source, self._target):
            self._links.when_mended(self._retry)
            return
        self._stalled = False
        if self._queue and not self._armed:
            self._arm(self._links.retransmission_ns())

    def _answer_nobody(self) -> None:
        """Answer with a reset, as a kernel does for a connection that it does not know."""
        self._queue.clear()
        if self.sender is not None:
            delay_ns = self._links.latency_ns(self._target, self._source)
            self._world.after(delay_ns, self.sender.ended, Mark.RESET, loop=self._sending)

    def _arm(self, delay_ns: int) -> None:
        self._armed = True
        loop = None if self.receiver is None else self._receiving
        self._world.after(delay_ns, self._deliver, loop=loop)

    def _deliver(self) -> None:
        self._armed = False
        if not self._links.lets_through(self._source, self._target):
            self._stalled = True
            self._links.when_mended(self._retry)
            return
        now_ns = self._world.now_ns
        queue = self._queue
        while queue and queue[0][0] <= now_ns and not self._paused:
            item = queue.popleft()[1]
            if self.receiver is None:
                self._answer_nobody()
                return
            if isinstance(item, Mark):
                self.receiver.ended(item)
            else:
                self._bytes -= len(item)
                self.receiver.arrived(item)
        if self._was_full and self._bytes <= BUFFER_BYTES:
            self._was_full = False
            if self.sender is not None:
                self._sending.call_soon(self.sender.emptied)
        if queue and not self._armed and not self._paused:
            self._arm(queue[0][0] - now_ns)
