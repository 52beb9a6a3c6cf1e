import errno

import pytest
from kio.schema.errors import ErrorCode

from duolog.wire.kafka.apis import ApiKey

LATEST, EARLIEST, LARGEST_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -3, -4, -5
EARLIEST_PENDING_UPLOAD = -6


@pytest.fixture(autouse=True)
async def orders(broker):
    """Ten records at times 0, 10, 20, …; the first two are deleted, the last is uncommitted."""
    await broker.catalog.create_topic("orders", 1, {})
    broker.write("orders", 0, records=10, committed=9)
    broker.partition("orders", 0).log.start_offset = 2


async def ask(broker, timestamp, *, current=-1, topic="orders", isolation=0, version=None):
    partition = {"partition_index": 0, "current_leader_epoch": current, "timestamp": timestamp}
    response = await broker.call(
        ApiKey.LIST_OFFSETS,
        version,
        replica_id=-1,
        isolation_level=isolation,
        topics=[{"name": topic, "partitions": [partition]}],
        timeout=1000,
    )
    ((result,),) = [each.partitions for each in response.topics]
    return result


async def offset_and_time(broker, timestamp, **options):
    result = await ask(broker, timestamp, **options)
    assert result.error_code == ErrorCode.none
    return result.offset, result.timestamp


@pytest.mark.parametrize("version", range(1, 12))
async def test_first_last_and_time_are_found_at_every_version(broker, version):
    assert await offset_and_time(broker, EARLIEST, version=version) == (2, -1)
    assert await offset_and_time(broker, LATEST, version=version) == (9, -1)
    assert await offset_and_time(broker, 35, version=version) == (4, 40)


async def test_read_committed_ends_at_the_high_watermark_too(broker):
    assert await offset_and_time(broker, LATEST, isolation=1) == (9, -1)


async def test_the_record_with_the_largest_timestamp_is_found(broker):
    broker.write("orders", 0, records=10)
    assert await offset_and_time(broker, LARGEST_TIMESTAMP) == (9, 90)


async def test_nothing_past_the_high_watermark_is_named(broker):
    assert await offset_and_time(broker, 85) == (-1, -1)
    assert await offset_and_time(broker, LARGEST_TIMESTAMP) == (-1, -1)


async def test_a_time_after_the_last_record_finds_nothing(broker):
    assert await offset_and_time(broker, 1000) == (-1, -1)


async def test_an_empty_partition_has_ends_and_no_timestamps(broker):
    await broker.catalog.create_topic("empty", 1, {})
    assert await offset_and_time(broker, EARLIEST, topic="empty") == (0, -1)
    assert await offset_and_time(broker, LATEST, topic="empty") == (0, -1)
    assert await offset_and_time(broker, LARGEST_TIMESTAMP, topic="empty") == (-1, -1)


async def test_without_tiers_everything_is_local(broker):
    assert await offset_and_time(broker, EARLIEST_LOCAL) == (2, -1)
    assert await offset_and_time(broker, LATEST_TIERED) == (-1, -1)
    assert await offset_and_time(broker, EARLIEST_PENDING_UPLOAD) == (-1, -1)


async def test_an_offset_comes_with_the_epoch_that_wrote_it(broker):
    assert (await ask(broker, EARLIEST)).leader_epoch == 0
    assert (await ask(broker, 60)).leader_epoch == 2
    assert (await ask(broker, 1000)).leader_epoch == -1


@pytest.mark.parametrize(
    ("timestamp", "version"),
    [
        (LARGEST_TIMESTAMP, 6),
        (EARLIEST_LOCAL, 7),
        (LATEST_TIERED, 8),
        (EARLIEST_PENDING_UPLOAD, 10),
        (-9, 11),
    ],
)
async def test_a_special_time_that_a_version_does_not_know_is_refused(broker, timestamp, version):
    result = await ask(broker, timestamp, version=version)
    assert (result.error_code, result.offset) == (ErrorCode.unsupported_version, -1)


@pytest.mark.parametrize(
    ("current", "error"),
    [
        (2, ErrorCode.none),
        (1, ErrorCode.fenced_leader_epoch),
        (3, ErrorCode.unknown_leader_epoch),
    ],
)
async def test_who_knows_another_leader_is_told_so(broker, current, error):
    assert (await ask(broker, LATEST, current=current)).error_code == error


@pytest.mark.parametrize("timestamp", [LATEST, EARLIEST, LARGEST_TIMESTAMP, 35])
async def test_who_asks_a_follower_is_sent_to_the_leader(broker, timestamp):
    broker.partition("orders", 0).is_leading = False
    result = await ask(broker, timestamp)
    assert (result.error_code, result.offset) == (ErrorCode.not_leader_or_follower, -1)


@pytest.mark.parametrize(("timestamp", "offset"), [(LATEST, -1), (35, -1), (EARLIEST, 2)])
async def test_a_new_leader_names_no_end_before_it_knows_what_is_committed(
    broker, timestamp, offset
):
    broker.partition("orders", 0).is_current = False
    result = await ask(broker, timestamp)
    error = ErrorCode.none if offset >= 0 else ErrorCode.offset_not_available
    assert (result.error_code, result.offset) == (error, offset)


async def test_an_unknown_topic_is_refused(broker):
    result = await ask(broker, LATEST, topic="nothing")
    assert result.error_code == ErrorCode.unknown_topic_or_partition


async def test_a_log_that_cannot_be_read_is_an_error_of_its_partition(broker, monkeypatch):
    def fail():
        raise OSError(errno.EIO, "unreadable")

    log = broker.partition("orders", 0).log
    monkeypatch.setattr(log, "timestamp_search", lambda timestamp: fail)
    monkeypatch.setattr(log, "max_timestamp_search", lambda: fail)
    for timestamp in (35, LARGEST_TIMESTAMP):
        result = await ask(broker, timestamp)
        assert (result.error_code, result.offset) == (ErrorCode.kafka_storage_error, -1)
