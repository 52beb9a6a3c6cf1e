"""FETCH: serves a follower with records of the partitions that this node leads."""

from collections.abc import Sequence

from duolog.broker.replication.served_copies import ServedCopies
from duolog.ports.peers import Caller
from duolog.ports.transport import Chunk, FileRange
from duolog.wire.peer.copying import CopyAnswer, decode_request, encode_answer_head

COPIED_BYTES_MAX = 32 * 1024
"""Size up to which copying the records into the answer costs less than a sendfile."""


class FetchHandler:
    """Implements PeerHandler."""

    def __init__(self, copies: ServedCopies) -> None:
        self._copies = copies

    async def __call__(self, caller: Caller, body: memoryview) -> Sequence[Chunk]:
        request = decode_request(body)
        session, served = await self._copies.serve(caller, request)
        answer = CopyAnswer(session, [each.result for each in served])
        chunks: list[Chunk] = [encode_answer_head(answer)]
        for _, piece in served:
            if piece is None:
                continue
            if piece.length <= COPIED_BYTES_MAX:
                chunks.append(piece.file.pread(piece.length, piece.position))
            else:
                chunks.append(FileRange(piece.file, piece.position, piece.length))
        return chunks
