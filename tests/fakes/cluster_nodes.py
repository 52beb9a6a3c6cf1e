"""Nodes for tests of the cluster, and a clock that they share."""

import asyncio
from collections.abc import Callable

from duolog.model.cluster import ROLES, LiveNode, Registration


class ManualClock:
    """Stands still until a test moves it."""

    def __init__(self) -> None:
        self.at_ms = 1_000_000

    def now_ms(self) -> int:
        return self.at_ms

    def monotonic_ms(self) -> int:
        return self.at_ms

    def monotonic_ns(self) -> int:
        return self.at_ms * 1_000_000

    def thread_ns(self) -> int:
        return 0

    def worked(self, steps: int) -> None:
        pass

    def advance(self, ms: int) -> None:
        self.at_ms += ms


def registration(node: int, **changes: object) -> Registration:
    values: dict[str, object] = {
        "node": node,
        "incarnation": f"{node}.1",
        "directory": f"directory of {node}",
        "stopped_cleanly": True,
        "rack": "",
        "host": f"host-{node}",
        "roles": ROLES,
        "kafka": f"127.0.0.1:{9000 + node}",
        "peer": f"127.0.0.1:{9100 + node}",
    }
    return Registration(**{**values, **changes})


def live_node(node: int, epoch: int = 1, *, draining: bool = False, **changes: object) -> LiveNode:
    return LiveNode(registration(node, **changes), epoch, draining)


async def eventually(holds: Callable[[], bool], timeout_s: float = 20) -> None:
    async with asyncio.timeout(timeout_s):
        while not holds():
            await asyncio.sleep(0.001)
