"""Which nodes this node tries and does not reach, over all of its links to them.

A node that was found unreachable is tried again and again until it answers: nobody else may have a
reason to try it any more, and a leader that nobody can reach is not to be led back to.
"""

import asyncio
from contextlib import suppress
from functools import partial

from duolog.client.peers import PeerLinks
from duolog.core.membership.silence import Silence
from duolog.model.errors import Refusal
from duolog.ports.clock import Clock
from duolog.ports.peers import PeerUnreachable
from duolog.wire.peer.kinds import PeerKind

PROBE_MS_MAX = 1_000
"""Time-out of a probe, and thereby their interval."""


class Reachability:
    def __init__(self, peers: PeerLinks, clock: Clock) -> None:
        self._peers = peers
        self._clock = clock
        self._silence = Silence()
        self._probes: dict[int, asyncio.Task[None]] = {}
        self.unreachable: tuple[int, ...] = ()
        """Unreachable nodes, as of the last look."""

    def look(self) -> tuple[int, ...]:
        """Looks at all links; returns the unreachable nodes, each of which is being tried again."""
        self.unreachable = self._silence.look(self._peers.looks(), self._clock.monotonic_ms())
        for node in self.unreachable:
            if node not in self._probes:
                self._probes[node] = probe = asyncio.create_task(self._probe(node))
                probe.add_done_callback(partial(self._probed, node))
        return self.unreachable

    async def stop(self) -> None:
        if probes := tuple(self._probes.values()):
            for probe in probes:
                probe.cancel()
            await asyncio.wait(probes)

    def _probed(self, node: int, probe: asyncio.Task[None]) -> None:
        del self._probes[node]

    async def _probe(self, node: int) -> None:
        with suppress(PeerUnreachable, Refusal):
            await self._peers.call(node, PeerKind.PING, b"", timeout_ms=PROBE_MS_MAX)
