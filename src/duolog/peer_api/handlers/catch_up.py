"""CATCH_UP_*: another node waits until this one has acted upon a change of the metadata."""

from typing import Any

from duolog.broker.membership.everywhere import catch_up
from duolog.broker.store_follower import StoreFollower
from duolog.ports.peers import Caller


class CatchUpHandler:
    """A PeerHandler."""

    def __init__(self, follower: StoreFollower[Any]) -> None:
        self._follower = follower

    async def __call__(self, caller: Caller, body: memoryview) -> bytes:
        await catch_up(self._follower, body)
        return b""
