"""CATCH_UP_*: answers once this node has applied a metadata change that another node made."""

from typing import Any

from duolog.broker.membership.everywhere import catch_up
from duolog.broker.store_follower import StoreFollower
from duolog.ports.peers import Caller


class CatchUpHandler:
    """Implements PeerHandler."""

    def __init__(self, follower: StoreFollower[Any]) -> None:
        self._follower = follower

    async def __call__(self, caller: Caller, body: memoryview) -> bytes:
        await catch_up(self._follower, body)
        return b""
