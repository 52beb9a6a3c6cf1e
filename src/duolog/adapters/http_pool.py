"""Shared state of one HTTP server's connections: limits, memory and a coarse clock."""

import asyncio
from dataclasses import dataclass
from email.utils import formatdate
from itertools import islice
from typing import Literal, Protocol

from duolog.adapters.http_pattern import HeadPatterns
from duolog.ports.http import Handler

NEVER = float("inf")

EXAMINED_MAX = 64
"""Limit of connections searched for an idle one, so that a flood of connections stays cheap."""

Phase = Literal["idle", "head", "body", "deaf"]
"""Part of a request that is being received. A deaf connection receives no more: a request was
refused, or the client is done."""


@dataclass(frozen=True, slots=True)
class HttpLimits:
    head_bytes_max: int = 64 * 1024
    """Limit of request line and headers together."""
    headers_max: int = 100
    body_bytes_max: int = 16 * 1024 * 1024
    bodies_bytes_total_max: int = 256 * 1024 * 1024
    """Limit of bodies that are being received or handled, over all connections."""
    body_bytes_granted: int = 16 * 1024
    """Bytes of bodies that each connection may have even above the total: clients that send much
    and slowly do not lock out those that send little."""
    connections_max: int = 10_000
    pipelined_max: int = 64
    """Limit of requests of a connection that wait for earlier ones before its reading pauses."""
    head_seconds_max: float = 30.0
    """Time from the first byte of a request to the end of its headers."""
    body_seconds_max: float = 120.0
    """Time from the end of the headers to the end of the body."""
    idle_seconds_max: float = 600.0
    """Time between two requests."""
    write_seconds_max: float = 60.0
    """Time for which a client may leave answers unread."""
    linger_seconds_max: float = 2.0
    """Time for which a refused client's bytes are still read, so that it can read the refusal."""


class Member(Protocol):
    """A connection, as the pool sees it."""

    deadline: float

    @property
    def is_idle(self) -> bool: ...

    def expired(self) -> None: ...

    def close_when_idle(self) -> None: ...

    def abort(self) -> None: ...


class HttpPool:
    def __init__(self, handler: Handler, limits: HttpLimits) -> None:
        self.handler = handler
        self.limits = limits
        self.now = 0.0
        """Loop time of the last sweep; deadlines are as coarse, and cost next to nothing."""
        self.idle_deadline = 0.0
        """Deadline of a connection that has been idle since the last sweep."""
        self.date_header = b""
        self.bodies_bytes = 0
        self.bodies_bytes_max = limits.bodies_bytes_total_max
        self.closing = False
        self.patterns = HeadPatterns()
        self.members: dict[Member, None] = {}
        self.emptied = asyncio.Event()

    def sweep(self, now: float) -> None:
        self.now = now
        self.idle_deadline = now + self.limits.idle_seconds_max
        self.date_header = f"Date: {formatdate(usegmt=True)}\r\n".encode()
        for member in list(self.members):
            if member.deadline <= now:
                member.expired()

    def deadline(self, phase: Phase, *, is_busy: bool) -> float:
        """Deadline of a connection in this phase; handling a request may take any time."""
        limits = self.limits
        match phase:
            case "idle":
                return NEVER if is_busy else self.idle_deadline
            case "head":
                return self.now + limits.head_seconds_max
            case "body":
                return self.now + limits.body_seconds_max
            case "deaf":
                return NEVER

    def join(self, member: Member) -> None:
        self.members[member] = None

    def leave(self, member: Member) -> None:
        self.members.pop(member, None)
        if self.closing and not self.members:
            self.emptied.set()

    def has_room(self) -> bool:
        """True if one more connection is allowed.

        At the limit, an idle one makes room: clients that open connections and do nothing with them
        lock nobody out.
        """
        if len(self.members) < self.limits.connections_max:
            return True
        examined = list(islice(self.members, EXAMINED_MAX))
        for member in examined:
            # Moved to the end: others are examined next time.
            self.members[member] = self.members.pop(member)
        idle = [member for member in examined if member.is_idle]
        if not idle:
            return False
        min(idle, key=lambda member: member.deadline).close_when_idle()
        return True

    @property
    def is_out_of_memory(self) -> bool:
        return self.bodies_bytes > self.bodies_bytes_max
