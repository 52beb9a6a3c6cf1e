"""Serves followers: takes their fetch offsets as progress reports, answers with records and news.

peer_api/handlers/fetch.py is the endpoint that followers call.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from duolog.broker.admission import STEPS_UNSEEN, Budget
from duolog.broker.broker import Broker
from duolog.broker.partition import Partition
from duolog.broker.replication.copy_session import NEWS_WAIT_S, CopySession, Place
from duolog.broker.replication.room import FollowersRoom
from duolog.core.replica.truncation import Divergence, divergence
from duolog.log.reader import LogSlice
from duolog.model.errors import CorruptBatch, NotLeader, OffsetOutOfRange, StaleBrokerEpoch
from duolog.ports.peers import Caller
from duolog.wire.peer.copying import (
    NO_SESSION,
    CopyError,
    CopyRequest,
    CopyResult,
    CopyWanted,
)

PARTITION_BYTES_MAX = 1 << 20
"""Bytes of one partition per answer, so that one far behind does not hold up the others."""

LOOKS_MAX = 500
"""Partitions looked at per answer: with thousands that have news, the rest is for the next one."""

WAIT_MS_MAX = 30_000

READER_MS = 2_000
"""Time after its last fetch for which a node counts as one that reads from here."""


class Served(NamedTuple):
    result: CopyResult
    piece: LogSlice | None


Told = tuple[Place, Served]


class ServedCopies:
    def __init__(self, broker: Broker, room: FollowersRoom) -> None:
        self._broker = broker
        self._room = room
        self._clock = broker.clock
        self._sessions: dict[int, CopySession] = {}
        """Fetch sessions by follower node: one each, since a node has one copier per leader."""
        self._last_number = 0
        self._heard_ms: dict[int, int] = {}
        self.reconsider: Callable[[Partition], None] = lambda partition: None
        """Called when a follower is ready to enter the in-sync set, or has fallen back."""

    @property
    def heard_ms(self) -> Mapping[int, int]:
        """Node id → monotonic time of its last fetch."""
        return self._heard_ms

    def readers(self) -> tuple[int, ...]:
        """Nodes that have fetched within READER_MS, or wait for the answer to a fetch."""
        now_ms = self._clock.monotonic_ms()
        return tuple(
            sorted(
                node
                for node, heard_ms in self._heard_ms.items()
                if now_ms - heard_ms <= READER_MS
                or (node in self._sessions and self._sessions[node].is_parked)
            )
        )

    async def serve(self, caller: Caller, request: CopyRequest) -> tuple[int, list[Served]]:
        """Returns the session number and the answers; a long poll while there are none."""
        self._check_epoch(caller)
        session = self._session_of(caller, request)
        if session is None:
            return NO_SESSION, []
        self._heard_ms[caller.node] = self._clock.monotonic_ms()
        self._room.heard(caller.node, is_full=request.is_full)
        for key in request.forgotten:
            session.forget(key)
        if not await self._note_all(session, request.wanted):
            return NO_SESSION, []
        time = asyncio.get_running_loop().time
        until = time() + min(max(0, request.wait_ms), WAIT_MS_MAX) / 1000
        while True:
            told, is_urgent = self._answer(session, request.bytes_max)
            now = time()
            if is_urgent or now >= until or self._sessions.get(caller.node) is not session:
                return session.number, _tell(session, told)
            if told:
                if session.news_from is None:
                    session.news_from = now
                until = min(until, session.news_from + NEWS_WAIT_S)
            await session.park(until)

    def look_for_starts(self) -> None:
        """Tells followers of moved log starts; expiry and deletion do not announce them."""
        for session in self._sessions.values():
            session.stir_moved_starts()

    def close(self) -> None:
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()

    def _check_epoch(self, caller: Caller) -> None:
        live = self._broker.catalog.nodes.live.get(caller.node)
        known = self._sessions.get(caller.node)
        newest = max(
            live.epoch if live is not None else -1, known.broker_epoch if known is not None else -1
        )
        if caller.epoch < newest:
            raise StaleBrokerEpoch(
                f"node {caller.node} has broker epoch {newest}, but asks with {caller.epoch}"
            )

    def _session_of(self, caller: Caller, request: CopyRequest) -> CopySession | None:
        known = self._sessions.get(caller.node)
        if request.session == NO_SESSION:
            if known is not None:
                known.close()
            self._last_number += 1
            known = CopySession(caller.node, caller.epoch, self._last_number)
            self._sessions[caller.node] = known
        elif (
            known is None
            or known.number != request.session
            or known.broker_epoch != caller.epoch
            or known.sequence + 1 != request.sequence
        ):
            return None
        known.sequence = request.sequence
        return known

    async def _note_all(self, session: CopySession, wanted: Sequence[CopyWanted]) -> bool:
        """Notes all positions; rests if there are many, as in a follower's first request.

        Returns False if the follower began another session meanwhile.
        """
        if len(wanted) <= STEPS_UNSEEN:
            for each in wanted:
                self._note(session, each)
            return True
        async for each in Budget(self._clock).over(wanted):
            if self._sessions.get(session.node) is not session:
                return False
            self._note(session, each)
        return True

    def _note(self, session: CopySession, wanted: CopyWanted) -> None:
        """Takes the follower's offset as its progress, which may advance the high watermark."""
        partition = self._broker.routes.get((wanted.topic_id, wanted.index))
        place = session.name(wanted, partition)
        if partition is None or _refused(partition, wanted) or _diverged(partition, wanted):
            return
        self._take_progress(session, place, partition)

    def _take_progress(self, session: CopySession, place: Place, partition: Partition) -> None:
        leadership, wanted = partition.leadership, place.wanted
        if leadership is None:
            return
        if wanted.is_in_doubt:
            self._broker.doubted[partition] = wanted.offset
        end_offset = partition.log.end_offset
        if wanted.offset > end_offset:
            return
        place.is_noted = True
        node = session.node
        now_ms = self._clock.monotonic_ms()
        epoch, is_damaged = session.broker_epoch, not wanted.has_room
        if leadership.fetched(
            node, epoch, wanted.offset, end_offset, now_ms, is_damaged=is_damaged
        ):
            partition.recount()
            if is_damaged or node in leadership.in_sync:
                is_due = leadership.has_fallen_back(node)
            else:
                # A full one waits for the next tick: it enters only a set that needs it.
                is_due = node not in self._room.full and node in leadership.ready(
                    partition.high_watermark, self._heard_ms
                )
            if is_due:
                self.reconsider(partition)

    def _answer(self, session: CopySession, bytes_max: int) -> tuple[list[Told], bool]:
        """Collects the stirred partitions' answers; True if they should not wait."""
        told: list[Told] = []
        left = bytes_max
        # The others' turn comes with the next request.
        is_urgent = len(session.stirred) > LOOKS_MAX
        for place in tuple(islice(session.stirred, LOOKS_MAX)):
            if left <= 0:
                is_urgent = True
                break
            found = self._look(session, place, left)
            if found is None:
                del session.stirred[place]
                continue
            result = found.result
            told.append((place, found))
            left -= result.length
            is_urgent |= result.must_be_answered(place.wanted.next_offset)
        return told, is_urgent

    def _look(self, session: CopySession, place: Place, left: int) -> Served | None:
        wanted, partition = place.wanted, place.partition
        if partition is None:
            return Served(_failed(wanted, self._absent(wanted)), None)
        error = _refused(partition, wanted)
        if error:
            return Served(_failed(wanted, error), None)
        if partition.leadership is None or not partition.leadership.knows(session.node):
            # Perhaps not a replica yet: the follower's catalog is ahead, and it will ask again.
            return Served(_failed(wanted, CopyError.NOT_A_REPLICA), None)
        diverged = _diverged(partition, wanted)
        if diverged is not None:
            return Served(_result(partition, wanted, diverging=diverged), None)
        if not place.is_noted:
            # It was named before this node knew that it leads; the follower is told of no error,
            # and will not name it again.
            self._take_progress(session, place, partition)
        error, piece = CopyError.NONE, None
        next_offset = wanted.next_offset
        if wanted.has_room:
            error, piece = _read(partition, next_offset, min(left, PARTITION_BYTES_MAX))
            if piece is not None:
                next_offset = piece.next_offset
            elif not error:
                # No records are left between the offset and the end, so the follower skips there.
                next_offset = partition.log.end_offset
        has_news = (
            partition.high_watermark != place.told_watermark
            or partition.log.start_offset != place.told_start_offset
        )
        if piece is None and not error and next_offset == wanted.next_offset and not has_news:
            return None
        length = 0 if piece is None else piece.length
        result = _result(partition, wanted, error=error, next_offset=next_offset, length=length)
        return Served(result, piece)

    def _absent(self, wanted: CopyWanted) -> CopyError:
        refusal = self._broker.unknown(wanted.topic_id, wanted.index)
        return CopyError.NOT_LEADER if isinstance(refusal, NotLeader) else CopyError.UNKNOWN_TOPIC


def _tell(session: CopySession, told: list[Told]) -> list[Served]:
    session.news_from = None
    for place, served in told:
        session.stirred.pop(place, None)
        result = served.result
        place.is_answered = result.must_be_answered(place.wanted.next_offset)
        place.told_watermark = result.high_watermark
        place.told_start_offset = result.start_offset
    return [served for _, served in told]


def _refused(partition: Partition, wanted: CopyWanted) -> CopyError:
    if wanted.leader_epoch < partition.leader_epoch:
        return CopyError.FENCED_EPOCH
    if wanted.leader_epoch > partition.leader_epoch:
        return CopyError.UNKNOWN_EPOCH
    is_served = partition.is_leader and not partition.is_fenced
    return CopyError.NONE if is_served else CopyError.NOT_LEADER


def _diverged(partition: Partition, wanted: CopyWanted) -> Divergence | None:
    log = partition.log
    return divergence(log.epochs, log.end_offset, wanted.last_epoch, wanted.next_offset)


def _read(partition: Partition, offset: int, bytes_max: int) -> tuple[CopyError, LogSlice | None]:
    """Reads up to the log's end: followers also copy uncommitted and unsynced records."""
    log = partition.log
    try:
        return CopyError.NONE, log.read(offset, bytes_max, log.end_offset)
    except OffsetOutOfRange:
        return CopyError.OUT_OF_RANGE, None
    except (CorruptBatch, OSError):
        return CopyError.UNREADABLE, None


def _failed(wanted: CopyWanted, error: CopyError) -> CopyResult:
    return CopyResult(wanted.topic_id, wanted.index, error, -1, -1, -1, wanted.next_offset, 0)


def _result(
    partition: Partition,
    wanted: CopyWanted,
    *,
    error: CopyError = CopyError.NONE,
    next_offset: int | None = None,
    length: int = 0,
    diverging: Divergence | None = None,
) -> CopyResult:
    return CopyResult(
        wanted.topic_id,
        wanted.index,
        error,
        partition.high_watermark,
        partition.log.start_offset,
        partition.log.end_offset,
        wanted.next_offset if next_offset is None else next_offset,
        length,
        *(diverging or ()),
    )
