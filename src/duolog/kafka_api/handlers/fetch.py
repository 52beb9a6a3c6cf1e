"""Fetch: answers with file ranges, or parks until there is enough to read.

A parked request is registered with each of its partitions and looks again when one of their high
watermarks advances, or when its time is up; nothing polls.
"""

import asyncio
from typing import TYPE_CHECKING, cast

from duolog.broker.broker import Broker
from duolog.broker.partition import ANY_EPOCH, Partition
from duolog.core.fetch_sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_SESSION,
    FetchSessions,
    Session,
    Wanted,
)
from duolog.kafka_api.answers import NO_TIMEOUT
from duolog.kafka_api.current_leaders import NOTHING_MOVED, CurrentLeaders, current_leaders
from duolog.kafka_api.errors import code_of
from duolog.kafka_api.read_places import NearerReplica, check_place
from duolog.model.errors import InvalidRequest, Refusal
from duolog.observe.metrics import OperationStats
from duolog.ports.clock import Clock
from duolog.ports.transport import Chunk, FileRange
from duolog.wire.kafka.apis import ApiKey
from duolog.wire.kafka.fetch import (
    Fetched,
    FetchRequest,
    Topic,
    encode_response,
    parse_request,
)
from duolog.wire.kafka.frames import response_prefix

if TYPE_CHECKING:
    from duolog.kafka_api.connection import Connection

SESSIONS_FROM = 7
TOPIC_IDS_FROM = 13
READ_COMMITTED = 1
NO_OFFSET = -1
NO_REPLICA = -1

COPIED_BYTES_MAX = 32 * 1024
"""Size up to which reading records into the response costs less than a sendfile."""

Key = tuple[Topic, int]


class FetchAnswer:
    """The answer to one Fetch request."""

    __slots__ = (
        "_bytes_max",
        "_connection",
        "_correlation_id",
        "_handler",
        "_min_bytes",
        "_parked_on",
        "_rack",
        "_read_committed",
        "_response",
        "_scheduled",
        "_session",
        "_timer",
        "_version",
        "_wanted",
        "ready",
        "started_ns",
        "stats",
    )

    is_produce = False
    timeout_ms = NO_TIMEOUT

    def __init__(
        self,
        handler: "FetchHandler",
        connection: "Connection",
        version: int,
        correlation_id: int,
        request: FetchRequest,
        session: Session[Topic] | None,
        wanted: dict[Key, Wanted],
        started_ns: int,
    ) -> None:
        self._handler = handler
        self._connection = connection
        self._version = version
        self._correlation_id = correlation_id
        self._min_bytes = request.min_bytes
        self._bytes_max = min(request.max_bytes, handler.bytes_max)
        self._read_committed = request.isolation_level == READ_COMMITTED
        self._rack = request.rack_id
        self._session = session
        self._wanted = wanted
        self.stats = handler.stats
        self.started_ns = started_ns
        self._parked_on: list[Partition] = []
        self._timer: asyncio.TimerHandle | None = None
        self._scheduled: asyncio.Handle | None = None
        self._response: list[Chunk] = []
        self.ready = False

    def begin(self, wait_ms_max: int) -> None:
        """Answer now if there is enough to read, else park."""
        if self._try_answer(final=wait_ms_max <= 0):
            return
        routes = self._handler.routes
        for key in self._wanted:
            partition = routes.get(key)
            if partition is not None:
                partition.add_reader(self)
                self._parked_on.append(partition)
        self._timer = self._handler.loop.call_later(wait_ms_max / 1000, self.time_out)

    def advanced(self) -> None:
        """Schedule another look after this event: a partition has more to read."""
        if self._scheduled is None:
            self._scheduled = self._handler.loop.call_soon(self._look_again)

    def _look_again(self) -> None:
        self._scheduled = None
        if self._try_answer(final=False):
            self._unpark()
            self._connection.answer_ready()

    def time_out(self) -> None:
        self._unpark()
        self._try_answer(final=True)
        self._connection.answer_ready()

    def _unpark(self) -> None:
        for partition in self._parked_on:
            partition.remove_reader(self)
        self._parked_on.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._scheduled is not None:
            self._scheduled.cancel()
            self._scheduled = None

    def abandon(self) -> None:
        self._unpark()

    def append_to(self, chunks: list[Chunk]) -> None:
        chunks += self._response

    def refuse(self, refusal: Refusal) -> None:
        """Answer with an error for the whole request."""
        self.stats.failed += 1
        self._encode([], code_of(refusal), NO_SESSION)

    def _try_answer(self, *, final: bool) -> bool:
        """Read all partitions; True if the result is to be sent: enough bytes, an error, or the
        time is up."""
        found: dict[Topic, list[Fetched[Chunk]]] = {}
        left = self._bytes_max
        total = 0
        failed = is_urgent = False
        served: list[Key] = []
        read: list[tuple[Partition, int, int]] = []
        routes = self._handler.routes
        session = self._session
        for key, wanted in self._wanted.items():
            topic, index = key
            records: Chunk | None = None
            length = 0
            partition = routes.get(key)
            try:
                if partition is None:
                    raise self._handler.broker.unknown(topic, index)
                if wanted.current_leader_epoch != ANY_EPOCH:
                    partition.check_epoch(wanted.current_leader_epoch)
                if self._rack or not partition.is_leader:
                    self._check_place(partition, wanted.fetch_offset)
                if left > 0 or total == 0:
                    piece = partition.read(wanted.fetch_offset, min(wanted.bytes_max, max(0, left)))
                    if piece is not None:
                        if piece.length <= COPIED_BYTES_MAX:
                            records = partition.load(piece)
                        else:
                            records = FileRange(piece.file, piece.position, piece.length)
                        length = piece.length
                        left -= length
                        total += length
                        served.append(key)
                        read.append((partition, piece.next_offset - wanted.fetch_offset, length))
                watermark = partition.high_watermark
                start_offset = partition.log.start_offset
                result: Fetched[Chunk] = (
                    index,
                    0,
                    watermark,
                    watermark,
                    start_offset,
                    NO_REPLICA,
                    records,
                    length,
                )
                if (
                    session is not None
                    and not length
                    and (
                        wanted.told_high_watermark == watermark
                        and wanted.told_start_offset == start_offset
                    )
                ):
                    continue
            except NearerReplica as nearer:
                is_urgent = True
                result = (index, 0, NO_OFFSET, NO_OFFSET, NO_OFFSET, nearer.node, None, 0)
            except Refusal as refusal:
                failed = is_urgent = True
                if partition is not None:
                    partition.fetched.fail()
                code = code_of(refusal)
                result = (index, code, NO_OFFSET, NO_OFFSET, NO_OFFSET, NO_REPLICA, None, 0)
            found.setdefault(topic, []).append(result)
        if not (final or is_urgent or total >= self._min_bytes or not self._wanted):
            return False
        moved = NOTHING_MOVED
        if failed:
            self.stats.failed += 1
            codes = [((topic, row[0]), row[1]) for topic, rows in found.items() for row in rows]
            moved = current_leaders(self._handler.broker, codes)
        if session is not None:
            self._note_told(session, found, served)
        for partition, messages, length in read:
            partition.bytes_out += length
            partition.fetched.count(messages, length)
        session_id = NO_SESSION if session is None else session.id
        self._encode(list(found.items()), 0, session_id, moved)
        return True

    def _check_place(self, partition: Partition, offset: int) -> None:
        broker = self._handler.broker
        check_place(broker, partition, offset, rack=self._rack, version=self._version)

    def _note_told(
        self, session: Session[Topic], found: dict[Topic, list[Fetched[Chunk]]], served: list[Key]
    ) -> None:
        partitions = session.partitions
        for topic, results in found.items():
            for result in results:
                wanted = partitions.get((topic, result[0]))
                if wanted is None:
                    continue
                if result[1]:
                    wanted.forget_told()
                else:
                    wanted.told_high_watermark = result[2]
                    wanted.told_start_offset = result[4]
        # Served partitions go to the end, so that a full response never starves the others.
        for key in served:
            moved = partitions.pop(key, None)
            if moved is not None:
                partitions[key] = moved

    def _encode(
        self,
        topics: list[tuple[Topic, list[Fetched[Chunk]]]],
        error_code: int,
        session_id: int,
        moved: CurrentLeaders = NOTHING_MOVED,
    ) -> None:
        body, length = encode_response(
            self._version,
            0,
            error_code,
            session_id,
            topics,
            read_committed=self._read_committed,
            current_leaders=moved.leaders,
            node_endpoints=moved.endpoints,
        )
        prefix = response_prefix(ApiKey.FETCH, self._version, self._correlation_id, length)
        head, *rest = cast(list[Chunk], body)
        assert isinstance(head, bytes), "a response begins with its own fields"
        self._response = [prefix + head, *rest]
        self.ready = True


class FetchHandler:
    def __init__(
        self,
        broker: Broker,
        clock: Clock,
        sessions: FetchSessions[Topic],
        stats: OperationStats,
        *,
        bytes_max: int,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.broker = broker
        self.routes = broker.routes
        self.stats = stats
        self.bytes_max = bytes_max
        self.loop = loop
        self._clock = clock
        self._sessions = sessions

    def begin(
        self,
        connection: "Connection",
        version: int,
        correlation_id: int,
        frame: memoryview,
        position: int,
        end: int,
        now_ns: int,
    ) -> FetchAnswer:
        request = parse_request(version, frame, position, end)
        session: Session[Topic] | None = None
        refusal: Refusal | None = None
        wanted: dict[Key, Wanted] = {}
        try:
            if request.replica_id >= 0:
                raise InvalidRequest("replicas must fetch through the peer listener")
            session = self._session_of(request, version)
            wanted = _update(session, request)
            if session is not None:
                self._sessions.check_size(session)
        except Refusal as error:
            refusal = error
        answer = FetchAnswer(
            self, connection, version, correlation_id, request, session, wanted, now_ns
        )
        if refusal is not None:
            answer.refuse(refusal)
        else:
            answer.begin(request.max_wait_ms)
        return answer

    def _session_of(self, request: FetchRequest, version: int) -> Session[Topic] | None:
        if version < SESSIONS_FROM:
            return None
        by_id = version >= TOPIC_IDS_FROM
        now_ms = self._clock.monotonic_ms()
        if request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            if request.session_id != NO_SESSION:
                self._sessions.close(request.session_id)
            if request.session_epoch == FINAL_EPOCH:
                return None
            return self._sessions.open(by_id, now_ms=now_ms)
        return self._sessions.resume(
            request.session_id, request.session_epoch, by_id, now_ms=now_ms
        )


def _update(session: Session[Topic] | None, request: FetchRequest) -> dict[Key, Wanted]:
    """The partitions to serve: those named now and, within a session, those named before."""
    wanted: dict[Key, Wanted] = {} if session is None else session.partitions
    for topic, indexes in request.forgotten:
        for index in indexes:
            wanted.pop((topic, index), None)
    for topic, partitions in request.topics:
        for index, leader_epoch, offset, _, _, asked_bytes_max in partitions:
            # One batch is returned whatever the limit, so that every reader makes progress.
            bytes_max = max(0, asked_bytes_max)
            known = wanted.get((topic, index))
            if known is None:
                wanted[topic, index] = Wanted(leader_epoch, offset, bytes_max)
            else:
                known.current_leader_epoch = leader_epoch
                known.fetch_offset = offset
                known.bytes_max = bytes_max
    return wanted
