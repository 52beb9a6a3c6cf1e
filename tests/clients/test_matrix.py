"""What any client writes, any client reads, byte for byte, whatever the compression."""

import time
from types import ModuleType

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from tests.harness.drivers import aio, confluent, python
from tests.harness.drivers.message import Message

DRIVERS = [
    pytest.param(driver, id=driver.NAME.replace("-", "_")) for driver in (confluent, aio, python)
]
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
RECORDS = 60


def some_messages() -> list[Message]:
    """Every shape that a record can have, in batches that compress well and badly."""
    now_ms = int(time.time() * 1000)
    shapes = [
        Message(b"key", b"value"),
        Message(None, b"no key"),
        Message(b"tombstone", None),
        Message(b"", b""),
        Message(bytes(range(256)), b"\x00\xff" * 700),
        Message(b"headers", b"v", (("a", b"1"), ("a", b"\x00\x80"), ("ü", b""))),
        Message(b"null header", b"v", (("null", None),)),
    ]
    return [
        shapes[each % len(shapes)]._replace(timestamp=now_ms + each * 7 % 100)
        for each in range(RECORDS)
    ]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("writer", DRIVERS)
def test_every_client_reads_what_another_wrote(
    address: str, admin: AdminClient, topic: str, writer: ModuleType, codec: str
) -> None:
    admin.create_topics([NewTopic(topic, 1)])[topic].result(10)
    messages = some_messages()
    if writer is python:
        # It cannot send a header without a value; it can read one.
        messages = [each for each in messages if each.key != b"null header"]
    writer.produce(address, topic, messages, compression=codec)
    for reader in (confluent, aio, python):
        seen = reader.read(address, topic, len(messages))
        assert [each.offset for each in seen] == list(range(len(messages))), reader.NAME
        assert [each.message for each in seen] == messages, reader.NAME
