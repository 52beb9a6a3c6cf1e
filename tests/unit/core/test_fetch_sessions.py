"""Fetch sessions: epochs, room, and eviction."""

from itertools import count

import pytest

from duolog.core import fetch_sessions
from duolog.core.fetch_sessions import (
    EPOCH_MAX,
    IDLE_MS_BEFORE_EVICTION,
    FetchSessions,
    Wanted,
)
from duolog.model.errors import FetchSessionNotFound, InvalidFetchSessionEpoch


def sessions(sessions_max: int = 2) -> FetchSessions[str]:
    return FetchSessions(sessions_max, count(1).__next__)


def test_a_session_goes_on_with_the_next_epoch() -> None:
    cache = sessions()
    session = cache.open(False, now_ms=0)
    assert session is not None
    assert cache.resume(session.id, 1, False, now_ms=1) is session
    assert cache.resume(session.id, 2, False, now_ms=2) is session


def test_a_repeated_epoch_is_refused() -> None:
    cache = sessions()
    session = cache.open(False, now_ms=0)
    assert session is not None
    cache.resume(session.id, 1, False, now_ms=1)
    with pytest.raises(InvalidFetchSessionEpoch):
        cache.resume(session.id, 1, False, now_ms=2)


def test_the_epoch_wraps_to_one() -> None:
    cache = sessions()
    session = cache.open(False, now_ms=0)
    assert session is not None
    session.next_epoch = EPOCH_MAX
    cache.resume(session.id, EPOCH_MAX, False, now_ms=1)
    assert cache.resume(session.id, 1, False, now_ms=2) is session


def test_an_unknown_or_closed_session_is_not_found() -> None:
    cache = sessions()
    session = cache.open(False, now_ms=0)
    assert session is not None
    cache.close(session.id)
    with pytest.raises(FetchSessionNotFound):
        cache.resume(session.id, 1, False, now_ms=1)


def test_names_and_ids_do_not_mix_in_one_session() -> None:
    cache = sessions()
    session = cache.open(False, now_ms=0)
    assert session is not None
    with pytest.raises(InvalidFetchSessionEpoch):
        cache.resume(session.id, 1, True, now_ms=1)


def test_without_room_there_is_no_session() -> None:
    cache = sessions(sessions_max=1)
    assert cache.open(False, now_ms=0) is not None
    assert cache.open(False, now_ms=IDLE_MS_BEFORE_EVICTION - 1) is None


def test_the_longest_idle_session_makes_room() -> None:
    cache = sessions(sessions_max=2)
    first, second = cache.open(False, now_ms=0), cache.open(False, now_ms=1)
    assert first is not None
    assert second is not None
    cache.resume(first.id, 1, False, now_ms=100)
    third = cache.open(False, now_ms=IDLE_MS_BEFORE_EVICTION + 1)
    assert third is not None
    assert len(cache) == 2
    with pytest.raises(FetchSessionNotFound):
        cache.resume(second.id, 1, False, now_ms=0)


def test_a_session_that_grows_too_large_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_sessions, "PARTITIONS_MAX", 3)
    cache = sessions()
    small, large = cache.open(False, now_ms=0), cache.open(False, now_ms=0)
    assert small is not None
    assert large is not None
    small.partitions["t", 0] = Wanted(-1, 0, 1)
    cache.check_size(small)
    for index in range(3):
        large.partitions["t", index] = Wanted(-1, 0, 1)
    with pytest.raises(FetchSessionNotFound):
        cache.check_size(large)
    assert len(cache) == 1
    small.partitions.update({("t", index): Wanted(-1, 0, 1) for index in range(3)})
    cache.check_size(small)
