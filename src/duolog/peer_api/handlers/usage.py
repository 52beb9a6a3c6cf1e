"""USAGE_APPEND: appends another node's usage lines to a partition that this node leads."""

from duolog.broker.broker import Broker
from duolog.broker.usage.topic import append_asked
from duolog.ports.peers import Caller


class UsageHandler:
    """Implements PeerHandler."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    async def __call__(self, caller: Caller, body: memoryview) -> bytes:
        await append_asked(self._broker, body)
        return b""
