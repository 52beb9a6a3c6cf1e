"""NATS JetStream, in NATS's own protocol."""

import json
from typing import Any

from bench.drives.dialect import CONNECTION_NUMBER, MARKER, TAKEN, Reception, Talk
from bench.drives.nats_client import NatsClient

INBOX = f"_INBOX.{MARKER}{CONNECTION_NUMBER}"
"""Answers to publishing name their subject, and so have the marker."""
CONSUMER = "reader"
TIMEOUT_SECONDS = 60.0
_CONNECT = b'CONNECT {"verbose":false}\r\n'
_NEVER = 1 << 40


class NatsDialect:
    client = (
        "load.c: one connection, 1,000 messages unanswered (PUB with a reply subject); "
        "a pull consumer without acks, 1,000 at a time"
    )

    def create(self, address: tuple[str, int], name: str) -> None:
        _ask(address, f"STREAM.CREATE.{name}", {"name": name, "subjects": [name]})

    def drop(self, address: tuple[str, int], name: str) -> None:
        _ask(address, f"STREAM.DELETE.{name}", {})

    def stored(self, address: tuple[str, int], name: str) -> int | None:
        return int(_ask(address, f"STREAM.INFO.{name}", {})["state"]["messages"])

    def publish(self, name: str, payload: bytes) -> Talk:
        return Talk(
            _CONNECT + b"SUB %b 1\r\n" % INBOX.encode(),
            _publish(name, INBOX, payload),
            ["--framing", "marked", "--marker", MARKER],
        )

    def take(self, address: tuple[str, int], name: str) -> Talk:
        _create_consumer(address, name)
        inbox = "_INBOX.taken"
        hello = _CONNECT + b"SUB %b 1\r\n" % inbox.encode()
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{name}.{CONSUMER}"
        request = _publish(subject, inbox, json.dumps({"batch": TAKEN}).encode())
        framing = ["--framing", "marked", "--marker", MARKER, "--markers", str(TAKEN)]
        return Talk(hello, request, framing)

    def receive(self, address: tuple[str, int], name: str) -> Reception:
        inbox = "_INBOX.pushed"
        _create_consumer(address, name, deliver_subject=inbox)
        hello = _CONNECT + b"SUB %b 1\r\n" % inbox.encode()
        return Reception(hello, b"", more_every=_NEVER)


def _create_consumer(address: tuple[str, int], name: str, **more: str) -> None:
    config = {"name": CONSUMER, "ack_policy": "none", "deliver_policy": "all", **more}
    request = {"stream_name": name, "config": config}
    _ask(address, f"CONSUMER.CREATE.{name}.{CONSUMER}", request)


def _publish(subject: str, reply: str, payload: bytes) -> bytes:
    return f"PUB {subject} {reply} {len(payload)}\r\n".encode() + payload + b"\r\n"


def _ask(address: tuple[str, int], api: str, request: dict[str, Any]) -> dict[str, Any]:
    client = NatsClient(address, timeout_seconds=TIMEOUT_SECONDS)
    try:
        return client.ask(api, request)
    finally:
        client.close()
