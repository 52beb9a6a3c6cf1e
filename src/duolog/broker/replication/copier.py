"""Copies all partitions that this node follows from one leader node.

One loop: fetch, append, sync, fetch from there. The fetch offset thus reports what is durable
here, and one sync serves all partitions of an answer. If the leader has more data than fits an
answer, the next fetch is sent at once, and the sync of one answer overlaps with the next.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from duolog.broker.admission import STEPS_UNSEEN, Budget
from duolog.broker.membership.own_condition import OwnCondition
from duolog.broker.partition import Partition
from duolog.broker.replication.copy_session import PlaceKey
from duolog.broker.replication.durability import all_durable
from duolog.broker.replication.pace import Pace
from duolog.core.replica.truncation import Divergence
from duolog.model.errors import CorruptBatch, Refusal
from duolog.observe.logs import get_logger
from duolog.ports.clock import Clock
from duolog.ports.peers import COPIES_LANE, Peers, PeerUnreachable
from duolog.wire.peer.copying import (
    NO_SESSION,
    Copied,
    CopyError,
    CopyRequest,
    CopyWanted,
    decode_answer,
    encode_request,
)
from duolog.wire.peer.frames import MalformedFrame
from duolog.wire.peer.kinds import PeerKind

BACK_OFF_S_MIN = 0.02
BACK_OFF_S_MAX = 1.0
"""Longest pause between attempts while the leader cannot be reached."""

RETRY_S = 0.1
"""Pause before a partition that could not be copied is fetched again."""

PUT_OFF_S_MAX = 5.0
"""Longest pause before a partition is fetched again that this node's disk did not take."""

GATHER_S = 0.005
"""Time to gather new partitions before a pending request is cancelled for their sake."""

ANSWER_MS_MAX = 5_000
"""Time-out of an answer, beyond the leader's long-poll time."""

log = get_logger("replication")


@dataclass(frozen=True, slots=True)
class CopyTerms:
    wait_ms: int = 500
    """Long-poll time of the leader while there is nothing to copy."""
    bytes_max: int = 10 << 20


class Copier:
    def __init__(
        self,
        node: int,
        leader: int,
        peers: Peers,
        terms: CopyTerms,
        pace: Pace,
        condition: OwnCondition,
        clock: Clock,
    ) -> None:
        self._node = node
        self._leader = leader
        self._peers = peers
        self._terms = terms
        self._pace = pace
        self._clock = clock
        self._condition = condition
        self._followed: dict[PlaceKey, Partition] = {}
        self._named: dict[PlaceKey, CopyWanted] = {}
        """Partitions → their last request in this session."""
        self._changed: dict[PlaceKey, None] = {}
        """Partitions to name in the next request."""
        self._forgotten: dict[PlaceKey, None] = {}
        """Partitions named in this session that the leader should drop."""
        self._later: dict[PlaceKey, float] = {}
        """Partitions to name later → the loop time at which."""
        self._reached: dict[PlaceKey, int] = {}
        """Partitions → end of what this session copied; up to it, the log equals the leader's."""
        self._more: dict[PlaceKey, int] = {}
        """Partitions whose leader has more data → offset of our last request."""
        self._refused: dict[PlaceKey, str] = {}
        """Partitions whose last answer was corrupt → the reason."""
        self._put_off_s: dict[PlaceKey, float] = {}
        """Partitions whose last answer this node could not write → the next pause."""
        self._session = NO_SESSION
        self._sequence = 0
        self._back_off_s = BACK_OFF_S_MIN
        self._asking: asyncio.Future[memoryview] | None = None
        self._interrupting: asyncio.TimerHandle | None = None

    @property
    def is_idle(self) -> bool:
        return not self._followed

    def follow(self, partition: Partition) -> None:
        """Begins to copy a partition; one that is being copied starts over under its new epoch."""
        key = _key(partition)
        named = self._named.get(key)
        if (
            self._followed.get(key) is partition
            and named is not None
            and named.leader_epoch == partition.leader_epoch
            and not partition.log.damaged
        ):
            # Only the in-sync set has changed. To interrupt the pending request would begin the
            # session anew, with all partitions: once for each of thousands that enter their sets.
            return
        self._followed[key] = partition
        self._changed[key] = None
        self._forgotten.pop(key, None)
        self._later.pop(key, None)
        self._doubt(key)
        if self._interrupting is None:
            loop = asyncio.get_running_loop()
            self._interrupting = loop.call_later(GATHER_S, self._interrupt)

    def forget(self, partition: Partition) -> None:
        key = _key(partition)
        if self._followed.get(key) is partition:
            del self._followed[key]
            self._changed.pop(key, None)
            self._later.pop(key, None)
            self._refused.pop(key, None)
            self._put_off_s.pop(key, None)
            self._doubt(key)
            # No longer named: an answer in flight must not be applied to a copy that is made anew.
            if self._named.pop(key, None) is not None:
                self._forgotten[key] = None

    def _doubt(self, key: PlaceKey) -> None:
        """Forgets progress beyond the durable offset: copying restarts there, which makes the
        leader compare the logs."""
        self._reached.pop(key, None)
        self._more.pop(key, None)

    def ask_now(self) -> None:
        """Cancels the pending long poll: the next request tells the leader of this node's disk."""
        if self._asking is not None:
            self._asking.cancel()

    def _interrupt(self) -> None:
        """Cancels the pending long poll, so that new partitions need not wait for its answer."""
        self._interrupting = None
        self.ask_now()

    async def run(self) -> None:
        """Copies until there is nothing to follow, or cancelled."""
        try:
            while self._followed:
                if await self._copy():
                    self._back_off_s = BACK_OFF_S_MIN
                else:
                    self._begin_again()
                    await asyncio.sleep(self._back_off_s)
                    self._back_off_s = min(2 * self._back_off_s, BACK_OFF_S_MAX)
        finally:
            if self._interrupting is not None:
                self._interrupting.cancel()

    def _begin_again(self) -> None:
        self._session = NO_SESSION
        self._sequence = 0
        self._named.clear()
        self._forgotten.clear()
        self._reached.clear()
        self._more.clear()
        self._changed = {key: None for key in self._followed if key not in self._later}

    async def _copy(self) -> bool:
        """Sends one request and applies the answer. Returns False if the leader gave none."""
        now = asyncio.get_running_loop().time()
        for key in [key for key, at in self._later.items() if at <= now]:
            del self._later[key]
            self._changed[key] = None
        try:
            await self._make_durable()
            answer = await self._ask(self._next_request())
            if answer is None:
                self._begin_again()
                return True
            session, copied = decode_answer(answer)
        except (PeerUnreachable, Refusal, MalformedFrame) as error:
            log.info("copying interrupted", leader=self._leader, reason=str(error))
            return False
        if session == NO_SESSION:
            return False
        self._session = session
        self._more.clear()
        await self._take_all(copied)
        return True

    async def _take_all(self, copied: Sequence[Copied]) -> None:
        """Takes all results; rests if there are many, as when a new leader's epochs are noted."""
        if len(copied) <= STEPS_UNSEEN:
            for each in copied:
                self._take(each)
            return
        async for each in Budget(self._clock).over(copied):
            self._take(each)

    async def _ask(self, request: CopyRequest) -> memoryview | None:
        """Sends a request; returns None if it was cancelled for the sake of new partitions."""
        asking = asyncio.ensure_future(
            self._peers.call(
                self._leader,
                PeerKind.FETCH,
                encode_request(request),
                timeout_ms=request.wait_ms + ANSWER_MS_MAX,
                lane=COPIES_LANE,
            )
        )
        self._asking = asking
        try:
            await asyncio.wait([asking])
        finally:
            self._asking = None
            asking.cancel()
        return None if asking.cancelled() else asking.result()

    def _next_request(self) -> CopyRequest:
        if self._interrupting is not None:
            self._interrupting.cancel()
            self._interrupting = None
        wanted = []
        for key in tuple(self._changed):
            partition = self._followed[key]
            is_durable = partition.copied_offset >= partition.log.end_offset
            if is_durable or not self._more or key in self._more:
                self._named[key] = named = self._wanted(key, partition)
                wanted.append(named)
            if is_durable:
                del self._changed[key]
        forgotten = list(self._forgotten)
        self._forgotten.clear()
        self._sequence += 1
        return CopyRequest(
            self._session,
            self._sequence,
            self._wait_ms(),
            self._terms.bytes_max,
            wanted,
            forgotten,
            self._condition.is_full,
        )

    def _wait_ms(self) -> int:
        """Long-poll time, cut short if other partitions must be named earlier."""
        if self._changed:
            return 0
        if not self._later:
            return self._terms.wait_ms
        left_s = min(self._later.values()) - asyncio.get_running_loop().time()
        return min(self._terms.wait_ms, max(1, ceil(left_s * 1000)))

    def _wanted(self, key: PlaceKey, partition: Partition) -> CopyWanted:
        offset, has_room = partition.copied_offset, True
        end_offset = partition.log.end_offset
        ahead = end_offset - offset if self._reached.get(key) == end_offset else 0
        damaged = partition.log.damaged
        if damaged:
            # The copy must be made again from the damage on. As long as this node can be elected,
            # though, intact records behind the damage must be kept.
            offset, has_room, ahead = min(each.first_offset for each in damaged), False, 0
            if not self._is_electable(partition):
                partition.cut_to(offset)
                offset, has_room = partition.copied_offset, True
        topic_id = partition.topic.id.bytes
        return CopyWanted(
            topic_id,
            partition.index,
            partition.leader_epoch,
            offset,
            partition.epoch_before(offset + ahead),
            has_room,
            key in self._refused,
            ahead,
        )

    def _is_electable(self, partition: Partition) -> bool:
        entry = partition.entry
        return entry is not None and self._node in (*entry.state.in_sync, *entry.state.eligible)

    def _take(self, copied: Copied) -> None:
        result = copied.result
        key = result.topic_id, result.index
        partition, named = self._followed.get(key), self._named.get(key)
        if partition is None or named is None or named.leader_epoch != partition.leader_epoch:
            return
        if result.error not in (CopyError.NONE, CopyError.OUT_OF_RANGE):
            self._retry_later(key)
            return
        try:
            self._apply(key, partition, named, copied)
        except CorruptBatch as damage:
            self._refuse(key, partition, str(damage))
            return
        except Refusal:
            # This node's own disk failed or is full, and has been reported.
            self._put_off(key)
            return
        self._refused.pop(key, None)
        self._put_off_s.pop(key, None)
        if not result.must_be_answered(named.next_offset):
            return
        if self._is_brought_in(partition):
            now = asyncio.get_running_loop().time()
            self._name_later(key, self._pace.free_at(len(copied.records), now))
            return
        self._changed[key] = None
        if result.length and result.next_offset < result.end_offset:
            self._more[key] = named.next_offset

    def _refuse(self, key: PlaceKey, partition: Partition, reason: str) -> None:
        if self._refused.get(key) != reason:
            log.error("copy refused", leader=self._leader, reason=reason, **_place(partition))
        self._refused[key] = reason
        self._retry_later(key)

    def _is_brought_in(self, partition: Partition) -> bool:
        """True if a reassignment is filling this copy, and it is not in sync yet."""
        entry = partition.entry
        return (
            entry is not None
            and self._node in entry.state.adding
            and self._node not in entry.state.in_sync
        )

    def _apply(
        self, key: PlaceKey, partition: Partition, named: CopyWanted, copied: Copied
    ) -> None:
        result = copied.result
        self._reached.pop(key, None)
        if result.error == CopyError.OUT_OF_RANGE:
            # A copy outside the leader's range that does not diverge holds no records to keep.
            partition.restart_at(result.start_offset)
        elif result.diverging_end >= 0:
            partition.cut(Divergence(result.diverging_epoch, result.diverging_end))
        elif named.has_room:
            partition.append_copied(copied.records, named.next_offset, result.next_offset)
            partition.skip_to(result.next_offset)
            self._reached[key] = result.next_offset
            partition.adopt(
                result.high_watermark,
                result.start_offset,
                result.end_offset,
                compared_offset=result.next_offset,
            )

    def _put_off(self, key: PlaceKey) -> None:
        """Fetches a partition again that this node could not write, each time later."""
        pause_s = self._put_off_s.get(key, RETRY_S)
        self._put_off_s[key] = min(2 * pause_s, PUT_OFF_S_MAX)
        self._name_later(key, asyncio.get_running_loop().time() + pause_s)

    def _retry_later(self, key: PlaceKey) -> None:
        self._name_later(key, asyncio.get_running_loop().time() + RETRY_S)

    def _name_later(self, key: PlaceKey, at: float) -> None:
        self._later[key] = at
        self._changed.pop(key, None)

    async def _make_durable(self) -> None:
        """Waits until the offsets to be reported are as durable as the topics ask. If the leader
        has more data, waits only up to the last request's offset; the rest is synced while the
        next answer is on its way."""
        if self._more:
            awaited = [(self._followed[key], offset) for key, offset in self._more.items()]
        else:
            changed = [self._followed[key] for key in self._changed]
            awaited = [(partition, partition.log.end_offset) for partition in changed]
        await all_durable(awaited)


def _place(partition: Partition) -> dict[str, object]:
    return {"topic": partition.topic.name, "partition": partition.index}


def _key(partition: Partition) -> PlaceKey:
    return partition.topic.id.bytes, partition.index
