"""Drives a server of any protocol that has a dialect, with load.c and paced_load.c."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench import memory
from bench.driver import LoadFailed, run_tool
from bench.drives.dialect import TAKEN, Dialect, Talk, payload
from bench.drives.drive import MESSAGE_BYTES, SMALL_BYTES
from bench.meter import Meter
from bench.processes import Server
from bench.samples import Sample
from bench.stand import Stand

WINDOW = 1000
"""Messages that a producer may have unacknowledged."""
REQUESTS_MAX = 10_000_000
_TAKES_AHEAD = 2


@dataclass(frozen=True, slots=True)
class WireDrive:
    dialect: Dialect

    @property
    def client(self) -> str:
        return self.dialect.client

    def flood(self, stand: Stand, server: Server, number: int) -> Sequence[Sample]:
        memory.touch(stand.scale.bytes_per_run)
        with self._topic(server, f"flood-{number}") as name:
            talk = self.dialect.publish(name, payload(MESSAGE_BYTES))
            produced = _send(stand, server, talk, depth=WINDOW)
            self._check(server, name, produced.messages)
            takes = produced.messages // TAKEN
            talk = self.dialect.take(server.host_and_port, name)
            consumed = _send(stand, server, talk, count=takes, depth=_TAKES_AHEAD, each=TAKEN)
            return produced, consumed.with_memory(server.session_resident_mb())

    def requests(
        self, stand: Stand, server: Server, number: int, connections: int, depth: int
    ) -> Sample:
        with self._topic(server, f"single-{connections}-{depth}-{number}") as name:
            talk = self.dialect.publish(name, payload(SMALL_BYTES))
            sample = _send(stand, server, talk, connections=connections, depth=depth)
            self._check(server, name, sample.messages)
            return sample

    def latency(self, stand: Stand, server: Server, number: int, rate: int) -> Sample:
        with self._topic(server, f"paced-{rate}-{number}") as name:
            return self._paced(stand, server, name, rate)

    def _paced(self, stand: Stand, server: Server, name: str, rate: int) -> Sample:
        reception = self.dialect.receive(server.host_and_port, name)
        talk = self.dialect.publish(name, payload(MESSAGE_BYTES))
        host, port = server.host_and_port
        seconds_max = stand.scale.seconds_max
        argv: list[str | Path] = [stand.tools.paced_load, "--host", host, "--port", str(port)]
        argv += ["--publisher-hello", _file(stand, "publisher", talk.hello)]
        argv += ["--receiver-hello", _file(stand, "receiver", reception.hello)]
        argv += ["--message", _file(stand, "message", talk.request)]
        argv += ["--more", _file(stand, "more", reception.more)]
        argv += ["--more-every", str(reception.more_every), "--rate", str(rate)]
        argv += ["--count", str(int(rate * stand.scale.latency_seconds))]
        argv += ["--seconds", str(seconds_max)]
        meter = Meter(server)
        result = run_tool(argv, seconds_max=seconds_max)
        usage = meter.read(load_cpu_seconds=result["client_cpu_seconds"])
        return Sample(
            seconds=result["seconds"],
            cpu_seconds=usage.cpu_seconds,
            others_cores=usage.others_cores,
            messages=result["messages"],
            bytes=result["bytes"],
            p50_us=result["p50_us"],
            p99_us=result["p99_us"],
            p999_us=result["p999_us"],
            is_paced=True,
        )

    def _check(self, server: Server, name: str, messages: int) -> None:
        stored = self.dialect.stored(server.host_and_port, name)
        if stored is not None and stored != messages:
            raise LoadFailed(f"{messages:,} messages were answered, but {stored:,} are stored")

    @contextmanager
    def _topic(self, server: Server, name: str) -> Iterator[str]:
        self.dialect.create(server.host_and_port, name)
        yield name
        self.dialect.drop(server.host_and_port, name)


def _send(
    stand: Stand,
    server: Server,
    talk: Talk,
    *,
    count: int = REQUESTS_MAX,
    connections: int = 1,
    depth: int,
    each: int = 1,
) -> Sample:
    """For a while where there is no count, and until all are answered where there is one."""
    host, port = server.host_and_port
    is_counted = count != REQUESTS_MAX
    seconds_max = stand.scale.seconds_max if is_counted else stand.scale.seconds_per_run
    argv: list[str | Path] = [stand.tools.load, "--host", host, "--port", str(port)]
    argv += ["--request", _file(stand, "request", talk.request)]
    if talk.hello:
        argv += ["--hello", _file(stand, "hello", talk.hello)]
    argv += [*talk.framing, "--count", str(count), "--seconds", str(seconds_max)]
    argv += ["--connections", str(connections), "--depth", str(depth)]
    meter = Meter(server)
    result = run_tool(argv, seconds_max=seconds_max)
    usage = meter.read(load_cpu_seconds=result["client_cpu_seconds"])
    if is_counted and result["requests"] != count:
        raise LoadFailed(f"{result['requests']:,} requests of {count:,} were answered in time")
    return Sample(
        seconds=result["seconds"],
        cpu_seconds=usage.cpu_seconds,
        others_cores=usage.others_cores,
        requests=result["requests"],
        messages=result["requests"] * each,
        bytes=max(result["bytes_sent"], result["bytes_received"]),
        p50_us=result["p50_us"],
        p99_us=result["p99_us"],
        p999_us=result["p999_us"],
    )


def _file(stand: Stand, name: str, data: bytes) -> Path:
    path = stand.directory / f"{name}.wire"
    path.write_bytes(data)
    return path
