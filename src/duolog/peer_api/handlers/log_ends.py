"""LOG_ENDS: tells a node that holds an election where the logs of this node end."""

from duolog.broker.replication.log_ends import LogEnds
from duolog.ports.peers import Caller
from duolog.wire.peer.log_ends import decode_places, encode_ends


class LogEndsHandler:
    """Implements PeerHandler."""

    def __init__(self, ends: LogEnds) -> None:
        self._ends = ends

    async def __call__(self, caller: Caller, body: memoryview) -> bytes:
        return encode_ends(self._ends.of(decode_places(body)))
