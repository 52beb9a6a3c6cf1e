"""A blocking Kafka client of two calls: topics are made before a run and dropped after it."""

import socket
from collections.abc import Mapping
from struct import pack, unpack_from

from bench.requests import frame, string

TIMEOUT_SECONDS = 60.0
_CREATE_TOPICS, _DELETE_TOPICS = (19, 2), (20, 1)


class Refused(Exception):
    """The broker answered an administrative request with an error code."""


def create_topic(
    address: tuple[str, int],
    name: str,
    *,
    partitions: int,
    configs: Mapping[str, str],
    replicas: int = 1,
) -> None:
    body = create_topics_body(name, partitions=partitions, configs=configs, replicas=replicas)
    _check("CreateTopics", name, _call(address, _CREATE_TOPICS, body))


def create_topics_body(
    name: str, *, partitions: int, configs: Mapping[str, str], replicas: int = 1
) -> bytes:
    """One topic, placed by the broker."""
    body = pack(">i", 1) + string(name) + pack(">ihi", partitions, replicas, 0)
    body += pack(">i", len(configs))
    body += b"".join(string(key) + string(value) for key, value in configs.items())
    return body + pack(">ib", int(TIMEOUT_SECONDS * 1000), 0)


def delete_topic(address: tuple[str, int], name: str) -> None:
    body = pack(">i", 1) + string(name) + pack(">i", int(TIMEOUT_SECONDS * 1000))
    _check("DeleteTopics", name, _call(address, _DELETE_TOPICS, body))


def _check(api: str, name: str, answer: bytes) -> None:
    """Both answers begin alike: correlation id, throttle time, one topic, name, error code."""
    (code,) = unpack_from(">h", answer, 4 + 4 + 4 + len(string(name)))
    if code != 0:
        raise Refused(f"{api} of {name} was answered with error code {code}")


def _call(address: tuple[str, int], api: tuple[int, int], body: bytes) -> bytes:
    with socket.create_connection(address, timeout=TIMEOUT_SECONDS) as connection:
        connection.sendall(frame(*api, body))
        with connection.makefile("rb") as stream:
            (length,) = unpack_from(">i", stream.read(4))
            answer: bytes = stream.read(length)
            return answer
