"""RabbitMQ's queues, in AMQP 0-9-1: persistent messages with publisher confirms."""

from collections.abc import Mapping
from struct import pack
from typing import Any

from bench.drives.dialect import TAKEN, Reception, Talk

USER, PASSWORD, VHOST = "guest", "guest", "/"
PREFETCH = 2 * TAKEN
FRAME_BYTES_MAX, CHANNELS_MAX = 131_072, 2047
ACK_EVERY = 10
_METHOD, _HEADER, _BODY = 1, 2, 3
_CONNECTION, _CHANNEL, _BASIC, _CONFIRM = 10, 20, 60, 85
_PERSISTENT = 2


class AmqpDialect:
    client = (
        "load.c: one connection, 1,000 messages unconfirmed; "
        "manual acks, one for 1,000, prefetch 2,000"
    )

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def create(self, address: tuple[str, int], name: str) -> None:
        with _connection(address) as connection:
            connection.channel().queue_declare(
                name, durable=True, arguments={"x-queue-type": self._kind}
            )

    def drop(self, address: tuple[str, int], name: str) -> None:
        with _connection(address) as connection:
            connection.channel().queue_delete(name)

    def stored(self, address: tuple[str, int], name: str) -> int | None:
        """Counts are published seconds later."""
        return None

    def publish(self, name: str, payload: bytes) -> Talk:
        hello = _HELLO + _method(1, _CONFIRM, 10, b"\x00")
        request = _method(1, _BASIC, 40, pack(">H", 0) + _short("") + _short(name) + b"\x00")
        header = pack(">HHQHB", _BASIC, 0, len(payload), 0x1000, _PERSISTENT)
        request += _frame(_HEADER, 1, header) + _frame(_BODY, 1, payload)
        return Talk(hello, request, ["--framing", "amqp"])

    def take(self, address: tuple[str, int], name: str) -> Talk:
        """All that was delivered is acknowledged, and so the next may be."""
        return Talk(self._consume(name), _ACK_ALL, ["--framing", "amqp", "--markers", str(TAKEN)])

    def receive(self, address: tuple[str, int], name: str) -> Reception:
        return Reception(self._consume(name), _ACK_ALL, more_every=ACK_EVERY)

    def _consume(self, name: str) -> bytes:
        arguments = {"x-stream-offset": "first"} if self._kind == "stream" else {}
        fields = pack(">H", 0) + _short(name) + _short("") + b"\x00" + _table(arguments)
        qos = _method(1, _BASIC, 10, pack(">IHB", 0, PREFETCH, 0))
        return _HELLO + qos + _method(1, _BASIC, 20, fields)


def _frame(kind: int, channel: int, payload: bytes) -> bytes:
    return pack(">BHI", kind, channel, len(payload)) + payload + b"\xce"


def _method(channel: int, of: int, number: int, fields: bytes) -> bytes:
    return _frame(_METHOD, channel, pack(">HH", of, number) + fields)


def _short(text: str) -> bytes:
    return pack(">B", len(text)) + text.encode()


def _long(data: bytes) -> bytes:
    return pack(">I", len(data)) + data


def _table(fields: Mapping[str, str]) -> bytes:
    return _long(
        b"".join(_short(key) + b"S" + _long(value.encode()) for key, value in fields.items())
    )


def _connection(address: tuple[str, int]) -> Any:
    import pika

    return pika.BlockingConnection(pika.ConnectionParameters(*address))


_HELLO = (
    b"AMQP\x00\x00\x09\x01"
    + _method(
        0,
        _CONNECTION,
        11,
        _table({}) + _short("PLAIN") + _long(f"\0{USER}\0{PASSWORD}".encode()) + _short("en_US"),
    )
    + _method(0, _CONNECTION, 31, pack(">HIH", CHANNELS_MAX, FRAME_BYTES_MAX, 0))
    + _method(0, _CONNECTION, 40, _short(VHOST) + _short("") + b"\x00")
    + _method(1, _CHANNEL, 10, _short(""))
)
"""All that comes before a channel is open; nobody waits for the answers, which hold nothing new."""
_ACK_ALL = _method(1, _BASIC, 80, pack(">QB", 0, 1))
