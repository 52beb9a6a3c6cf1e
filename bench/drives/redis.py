"""Redis streams, in RESP."""

from typing import Any

from bench.drives.dialect import MARKER, TAKEN, Reception, Talk

GROUP = "readers"


class RedisDialect:
    client = (
        "load.c: one connection, 1,000 messages unanswered (XADD); "
        "XREADGROUP with NOACK, 1,000 at a time"
    )

    def create(self, address: tuple[str, int], name: str) -> None:
        with _client(address) as client:
            client.xgroup_create(name, GROUP, id="0", mkstream=True)

    def drop(self, address: tuple[str, int], name: str) -> None:
        with _client(address) as client:
            client.delete(name)

    def stored(self, address: tuple[str, int], name: str) -> int | None:
        with _client(address) as client:
            return int(client.xlen(name))

    def publish(self, name: str, payload: bytes) -> Talk:
        request = _command(b"XADD", name.encode(), b"*", b"v", payload)
        return Talk(b"", request, ["--framing", "marked", "--marker", "$"])

    def take(self, address: tuple[str, int], name: str) -> Talk:
        framing = ["--framing", "marked", "--marker", MARKER, "--markers", str(TAKEN)]
        return Talk(b"", _read(name), framing)

    def receive(self, address: tuple[str, int], name: str) -> Reception:
        return Reception(b"", _read(name, b"BLOCK", b"0"), more_every=0)


def _read(name: str, *options: bytes) -> bytes:
    return _command(
        *(b"XREADGROUP", b"GROUP", GROUP.encode(), b"one", b"COUNT", str(TAKEN).encode()),
        *(*options, b"NOACK", b"STREAMS", name.encode(), b">"),
    )


def _command(*words: bytes) -> bytes:
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(w), w) for w in words)


def _client(address: tuple[str, int]) -> Any:
    import redis

    return redis.Redis(*address)
