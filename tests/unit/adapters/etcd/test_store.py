"""What the store makes of answers that a real etcd seldom or never gives."""

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

import pytest
from tests.unit.adapters.etcd.fake_gateway import (
    HANG_UP,
    HEADER,
    SILENCE,
    FakeGateway,
    chunk,
    ok,
    raw,
    refused,
    stored,
    stream,
)

from duolog.adapters.etcd import connection
from duolog.adapters.etcd.answer import AnswerReader
from duolog.adapters.etcd.store import EtcdStore
from duolog.ports.metastore import Compacted, LeaseId, Put, StoreUnavailable

PREFIX = "/duolog/test/"
TIMEOUT_S = 5.0
SHORT_TIMEOUT_S = 0.5
"""Where nothing can succeed."""
SOON_S_MAX = 20.0
ONE = stored(f"{PREFIX}a", b"1", 7)

Open = Callable[..., Awaitable[EtcdStore]]


@pytest.fixture
async def gateway() -> AsyncIterator[FakeGateway]:
    async with FakeGateway() as running:
        yield running


@pytest.fixture
async def other() -> AsyncIterator[FakeGateway]:
    async with FakeGateway() as running:
        yield running


@pytest.fixture
async def open_store() -> AsyncIterator[Open]:
    opened: list[EtcdStore] = []

    async def opening(*gateways: FakeGateway, timeout_s: float = TIMEOUT_S) -> EtcdStore:
        opened.append(
            await EtcdStore.open(
                [gateway.endpoint for gateway in gateways],
                PREFIX,
                request_timeout_s=timeout_s,
                probe_interval_s=0.05,
                probe_timeout_s=0.2,
            )
        )
        return opened[-1]

    yield opening
    for store in opened:
        await store.close()


BROKEN = {
    "a page of a proxy": raw(b"<html>Bad gateway</html>", "502 Bad Gateway"),
    "a page with the right status": raw(b"<html>Welcome</html>"),
    "another server": raw(b"404 page not found", "404 Not Found"),
    "no JSON": raw(b'{"header": {'),
    "an empty body": raw(b""),
    "no object": raw(b"[]"),
    "no header": raw(b"{}"),
    "a wrong type": ok({"kvs": 3, "succeeded": 3, "ID": "x"}),
    "no base64": ok({"kvs": [ONE | {"value": "***"}], "succeeded": "x", "ID": "x"}),
    "no text": raw(b"\xff\xfe"),
    "no HTTP": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "a change of protocol": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
    "an endless head": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000,
}


@pytest.mark.parametrize("broken", BROKEN)
async def test_a_broken_answer_is_an_unavailable_store(gateway, open_store, broken):
    store = await open_store(gateway, timeout_s=SHORT_TIMEOUT_S)
    paths = ["kv/range", "kv/txn", "lease/grant", "lease/keepalive", "lease/revoke"]
    gateway.answers = {f"/v3/{path}": lambda request: [BROKEN[broken]] for path in paths}
    requests = [
        store.get("a"),
        store.range(""),
        store.transact([], [Put("a", b"")]),
        store.grant_lease(1_000),
        store.renew_lease(LeaseId(1)),
        store.revoke_lease(LeaseId(1)),
    ]
    for outcome in await asyncio.gather(*requests, return_exceptions=True):
        assert isinstance(outcome, StoreUnavailable)
        assert str(gateway.endpoint) in str(outcome)


async def test_an_unavailable_store_is_named_with_every_endpoint(gateway, other, open_store):
    store = await open_store(gateway, other, timeout_s=SHORT_TIMEOUT_S)
    gateway.answers["/v3/kv/range"] = lambda request: HANG_UP
    other.answers["/v3/kv/range"] = lambda request: [raw(b"<html>", "502 Bad Gateway")]
    with pytest.raises(StoreUnavailable) as raised:
        await store.get("a")
    for told in (str(gateway.endpoint), str(other.endpoint), "closed the connection", "502"):
        assert told in str(raised.value)


async def test_a_foreign_key_is_not_handed_out(gateway, open_store):
    store = await open_store(gateway)
    for key in (b"/elsewhere/a", PREFIX.encode() + b"\xff"):
        entry = ONE | {"key": base64.b64encode(key).decode()}
        gateway.answers["/v3/kv/range"] = lambda request, entry=entry: [ok({"kvs": [entry]})]
        with pytest.raises(StoreUnavailable):
            await store.get("a")


@pytest.mark.parametrize(
    "answer",
    [SILENCE, HANG_UP, [refused(14, "etcdserver: request timed out")], [raw(b"?", "502 Oh")]],
)
async def test_a_transaction_that_was_sent_is_never_sent_again(gateway, other, open_store, answer):
    store = await open_store(gateway, other, timeout_s=SHORT_TIMEOUT_S)
    gateway.answers["/v3/kv/txn"] = lambda request: answer
    with pytest.raises(StoreUnavailable, match="unknown"):
        await store.transact([], [Put("a", b"")])
    assert len(gateway.requests("/v3/kv/txn")) == 1
    assert other.requests("/v3/kv/txn") == []


async def test_a_transaction_that_could_not_be_sent_goes_elsewhere(other, open_store):
    async with FakeGateway() as gateway:
        store = await open_store(gateway, other)
    # Time to notice that the kept connection is gone too.
    await asyncio.sleep(0.02)
    other.answers["/v3/kv/txn"] = lambda request: [ok({"succeeded": True})]
    assert (await store.transact([], [Put("a", b"")])).revision == int(HEADER["revision"])


@pytest.mark.parametrize("answer", [SILENCE, HANG_UP, [refused(14, "etcdserver: no leader")]])
async def test_a_read_goes_elsewhere(gateway, other, open_store, answer):
    store = await open_store(gateway, other)
    gateway.answers["/v3/kv/range"] = lambda request: answer
    other.answers["/v3/kv/range"] = lambda request: [ok({"kvs": [ONE]})]
    assert (await store.get("a")).value == b"1"


async def test_no_read_is_serializable(gateway, open_store):
    store = await open_store(gateway)
    await store.get("a")
    await store.range("")
    assert all("serializable" not in request for request in gateway.requests("/v3/kv/range"))


async def test_a_time_to_live_is_rounded_up_to_whole_seconds(gateway, open_store):
    store = await open_store(gateway)
    gateway.answers["/v3/lease/grant"] = lambda request: [ok({"ID": "9", "TTL": "2"})]
    for ttl_ms in (1, 1_000, 1_001):
        assert await store.grant_lease(ttl_ms) == 9
    asked = gateway.requests("/v3/lease/grant")
    assert [request["TTL"] for request in asked] == [1, 1, 2]


async def test_a_full_etcd_is_reported_with_what_to_do(gateway, open_store):
    store = await open_store(gateway)
    full = refused(8, "etcdserver: mvcc: database space exceeded")
    gateway.answers["/v3/kv/txn"] = lambda request: [full]
    with pytest.raises(StoreUnavailable, match="compact and defragment"):
        await store.transact([], [Put("a", b"")])


def pages_of(keys: list[str], value: bytes) -> Callable[[dict[str, object]], list[bytes]]:
    """A range of these keys, answered as etcd answers it."""
    all_of_them = [stored(f"{PREFIX}{key}", value, 7) for key in keys]

    def answer(request: dict[str, object]) -> list[bytes]:
        first = base64.b64decode(str(request["key"]))
        found = [each for each in all_of_them if base64.b64decode(each["key"]) >= first]
        limit = int(str(request.get("limit", 0))) or len(found)
        return [ok({"kvs": found[:limit], "more": len(found) > limit})]

    return answer


async def test_a_value_that_is_too_large_is_not_taken(gateway, open_store, monkeypatch):
    monkeypatch.setattr(connection, "AnswerReader", partial(AnswerReader, 1_000))
    store = await open_store(gateway)
    gateway.answers["/v3/kv/range"] = pages_of(["a"], b"x" * 1_000)
    for request in (store.get("a"), store.range("")):
        with pytest.raises(StoreUnavailable, match="too large"):
            await request


async def test_pages_get_shorter_when_values_are_large(gateway, open_store, monkeypatch):
    monkeypatch.setattr(connection, "AnswerReader", partial(AnswerReader, 200_000))
    store = await open_store(gateway)
    keys = [f"{n:02}" for n in range(40)]
    gateway.answers["/v3/kv/range"] = pages_of(keys, b"x" * 10_000)
    snapshot = await store.range("")
    assert [entry.key for entry in snapshot.entries] == keys
    pages = [each for each in gateway.requests("/v3/kv/range") if "revision" in each]
    assert {page["revision"] for page in pages} == {snapshot.revision}


async def test_a_range_begins_again_when_its_revision_is_compacted(gateway, open_store):
    store = await open_store(gateway)
    compacted = [refused(11, "etcdserver: mvcc: required revision has been compacted")]
    answers = iter([[ok({"kvs": [ONE], "more": True})], compacted, [ok({"kvs": [ONE]})]])

    def answer(request: dict[str, object]) -> list[bytes]:
        return next(answers) if "limit" in request else [ok({})]

    gateway.answers["/v3/kv/range"] = answer
    assert len((await store.range("")).entries) == 1


CREATED = {"created": True}


def changed(revision: int) -> dict[str, object]:
    return {"events": [{"kv": stored(f"{PREFIX}a", b"", revision)}]}


async def next_revision(watch) -> int:
    return (await asyncio.wait_for(anext(watch), SOON_S_MAX)).revision


@pytest.mark.every_event_loop
@pytest.mark.parametrize(
    "broken",
    [
        [],
        [chunk(b"<html>\n")],
        [chunk(b"{}\n")],
        [chunk(b'{"error": {"grpc_code": 14, "message": "leader changed"}}\n')],
        [b"no chunk"],
        [b"0\r\n\r\n"],
    ],
)
async def test_a_broken_watch_goes_on_with_the_next_revision(gateway, open_store, broken):
    store = await open_store(gateway)

    def answer(request: dict[str, dict[str, int]]) -> list[bytes]:
        first = request["create_request"]["start_revision"]
        if len(gateway.requests("/v3/watch")) == 1:
            return [*stream(CREATED, changed(first)), *broken, b""]
        return stream(CREATED, changed(first), changed(first + 1))

    gateway.answers["/v3/watch"] = answer
    watch = store.watch("", 8)
    assert [await next_revision(watch) for _ in range(2)] == [8, 9]
    await watch.aclose()


async def test_a_watch_that_cannot_begin_is_tried_again(gateway, open_store):
    store = await open_store(gateway)
    answers = iter([HANG_UP, [refused(14, "etcdserver: no leader")]])
    begun = stream(CREATED, changed(8))
    gateway.answers["/v3/watch"] = lambda request: next(answers, begun)
    assert await next_revision(store.watch("", 8)) == 8


async def test_a_watch_leaves_a_member_without_the_others(gateway, other, open_store):
    """Cut off, it serves the watch, in which nothing happens, and cannot answer reads."""
    store = await open_store(gateway, other)
    gateway.answers["/v3/watch"] = lambda request: stream(CREATED, changed(8))
    other.answers["/v3/watch"] = lambda request: stream(CREATED, changed(9))
    watch = store.watch("", 8)
    assert await next_revision(watch) == 8
    gateway.answers["/v3/kv/range"] = lambda request: SILENCE
    begun = time.monotonic()
    assert await next_revision(watch) == 9
    assert time.monotonic() - begun < TIMEOUT_S
    assert other.requests("/v3/watch")[0]["create_request"]["start_revision"] == 9


async def test_a_frozen_member_does_not_hold_a_watch_that_begins(gateway, other, open_store):
    store = await open_store(gateway, other)
    gateway.answers["/v3/watch"] = gateway.answers["/v3/kv/range"] = lambda request: SILENCE
    other.answers["/v3/watch"] = lambda request: stream(CREATED, changed(8))
    assert await next_revision(store.watch("", 8)) == 8


async def test_when_nobody_answers_a_watch_stays_where_it_is(gateway, other, open_store):
    store = await open_store(gateway, other)
    gateway.answers["/v3/watch"] = lambda request: stream(CREATED)
    waiting = asyncio.create_task(anext(store.watch("", 8)))
    gateway.answers["/v3/kv/range"] = other.answers["/v3/kv/range"] = lambda request: SILENCE
    await asyncio.sleep(0.6)
    assert len(gateway.requests("/v3/watch")) == 1
    waiting.cancel()


async def test_a_watch_from_forgotten_revisions_ends(gateway, open_store):
    store = await open_store(gateway)
    cancelled = {"canceled": True, "compact_revision": "20"}
    gateway.answers["/v3/watch"] = lambda request: stream(CREATED, cancelled)
    with pytest.raises(Compacted):
        await next_revision(store.watch("", 8))


async def test_a_watch_that_is_not_permitted_ends(gateway, open_store):
    store = await open_store(gateway)
    denied = CREATED | {"canceled": True, "cancel_reason": "etcdserver: permission denied"}
    gateway.answers["/v3/watch"] = lambda request: stream(denied)
    with pytest.raises(StoreUnavailable, match="permission denied"):
        await next_revision(store.watch("", 8))


async def test_nothing_is_written_to_another_cluster(other, open_store):
    foreign = raw(json.dumps({"header": {"cluster_id": "2"}}).encode())
    other.answers["/v3/maintenance/status"] = lambda request: [foreign]
    async with FakeGateway() as gateway:
        store = await open_store(gateway, other, timeout_s=SHORT_TIMEOUT_S)
    await asyncio.sleep(0.02)
    with pytest.raises(StoreUnavailable, match="it belongs to etcd cluster 2"):
        await store.transact([], [Put("a", b"")])
    assert other.requests("/v3/kv/txn") == []


async def test_a_watch_that_begins_while_its_member_is_left_moves_on(gateway, other, open_store):
    store = await open_store(gateway, other)
    begun = asyncio.Event()

    def begin(request: dict[str, object]) -> list[bytes]:
        begun.set()
        return SILENCE

    gateway.answers["/v3/watch"] = begin
    other.answers["/v3/watch"] = lambda request: stream(CREATED, changed(8))
    waiting = asyncio.create_task(next_revision(store.watch("", 8)))
    await begun.wait()
    gateway.answers["/v3/kv/range"] = lambda request: HANG_UP
    assert await waiting == 8


async def test_a_closed_store_refuses_and_ends_its_watches(gateway, open_store):
    store = await open_store(gateway)
    gateway.answers["/v3/watch"] = lambda request: stream(CREATED)
    waiting = asyncio.create_task(anext(store.watch("", 8)))
    await asyncio.sleep(0.05)
    await store.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await asyncio.wait_for(waiting, SOON_S_MAX)
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.get("a")


async def test_a_store_that_nobody_serves_cannot_be_opened(open_store):
    async with FakeGateway() as gateway:
        pass
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        await open_store(gateway, timeout_s=SHORT_TIMEOUT_S)


async def test_more_requests_than_connections_wait_for_their_turn(gateway, open_store):
    store = await open_store(gateway)
    gateway.answers["/v3/kv/range"] = lambda request: [ok({"kvs": [ONE]})]
    entries = await asyncio.gather(*(store.get("a") for _ in range(200)))
    assert all(entry.value == b"1" for entry in entries)
