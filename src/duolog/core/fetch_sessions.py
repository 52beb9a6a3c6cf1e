"""Incremental fetch sessions (KIP-227): what each client asked for and was last told.

Pure. A session lets a client name only the partitions that changed, and lets the broker answer only
with those that have news. Driven by kafka_api/handlers/fetch.py.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from duolog.model.errors import FetchSessionNotFound, InvalidFetchSessionEpoch

INITIAL_EPOCH = 0
FINAL_EPOCH = -1
NO_SESSION = 0
EPOCH_MAX = 0x7FFF_FFFF

IDLE_MS_BEFORE_EVICTION = 120_000
PARTITIONS_MAX = 200_000
"""Limit of partitions that all sessions together may remember."""

T = TypeVar("T", bound=Hashable)


@dataclass(slots=True)
class Wanted:
    """One partition of a session."""

    current_leader_epoch: int
    fetch_offset: int
    bytes_max: int
    told_high_watermark: int = -1
    told_start_offset: int = -1
    """Offsets in the last answer about the partition; -1 makes the next answer mention it."""

    def forget_told(self) -> None:
        self.told_high_watermark = -1
        self.told_start_offset = -1


@dataclass(slots=True)
class Session(Generic[T]):
    id: int
    uses_topic_ids: bool
    next_epoch: int
    used_ms: int
    partitions: dict[tuple[T, int], Wanted] = field(default_factory=dict)
    """Partitions in serving order; one that got data goes to the end, so that none starves."""
    counted: int = 0
    """Size of `partitions` that is included in the total of all sessions."""


class FetchSessions(Generic[T]):
    def __init__(self, sessions_max: int, new_id: Callable[[], int]) -> None:
        self._sessions_max = sessions_max
        self._new_id = new_id
        self._sessions: dict[int, Session[T]] = {}
        self._partitions = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def open(self, uses_topic_ids: bool, *, now_ms: int) -> Session[T] | None:
        """A new session, or None if there is no room: the client then sends full fetches."""
        if len(self._sessions) >= self._sessions_max and not self._evict(now_ms):
            return None
        session_id = self._new_id()
        while session_id in self._sessions or session_id == NO_SESSION:
            session_id = self._new_id()
        session = Session[T](session_id, uses_topic_ids, 1, now_ms)
        self._sessions[session_id] = session
        return session

    def resume(
        self, session_id: int, epoch: int, uses_topic_ids: bool, *, now_ms: int
    ) -> Session[T]:
        session = self._sessions.get(session_id)
        if session is None:
            raise FetchSessionNotFound(f"there is no fetch session {session_id}")
        if epoch != session.next_epoch or session.uses_topic_ids != uses_topic_ids:
            raise InvalidFetchSessionEpoch(
                f"fetch session {session_id} is at epoch {session.next_epoch}, not {epoch}"
            )
        session.next_epoch = 1 if epoch == EPOCH_MAX else epoch + 1
        session.used_ms = now_ms
        return session

    def check_size(self, session: Session[T]) -> None:
        """Accounts for partitions that a request added or dropped.

        Above the limit the session is closed; the client then asks for all of them anew.
        """
        self._partitions += len(session.partitions) - session.counted
        session.counted = len(session.partitions)
        if self._partitions > PARTITIONS_MAX:
            self.close(session.id)
            raise FetchSessionNotFound("the fetch sessions hold too many partitions")

    def close(self, session_id: int) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self._partitions -= session.counted

    def _evict(self, now_ms: int) -> bool:
        """Makes room by closing the session that was idle longest, if idle for long enough."""
        oldest = min(self._sessions.values(), key=lambda session: session.used_ms, default=None)
        if oldest is None or now_ms - oldest.used_ms < IDLE_MS_BEFORE_EVICTION:
            return False
        self.close(oldest.id)
        return True
