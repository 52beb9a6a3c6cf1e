"""Kafka's protocol: librdkafka with its defaults, and single requests from load.c."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from bench import kafka, memory, requests
from bench.driver import Shape, Traffic
from bench.drives.drive import MESSAGE_BYTES, SMALL_BYTES
from bench.processes import Server
from bench.samples import Sample
from bench.stand import Stand
from bench.workloads.payloads import one_record

MESSAGES_MAX = 50_000_000
REQUESTS_MAX = 10_000_000
_DELETE_AT_ONCE = {"file.delete.delay.ms": "0"}


@dataclass(frozen=True, slots=True)
class KafkaDrive:
    configs: Mapping[str, str] = field(default_factory=dict)
    """Of each topic."""
    replicas: int = 1
    partitions: int = 1
    client: str = "librdkafka with its defaults (acks=all, 5 ms linger, batches of up to 1 MB)"

    def flood(self, stand: Stand, server: Server, number: int) -> Sequence[Sample]:
        memory.touch(stand.scale.bytes_per_run)
        with self._topic(server, f"flood-{number}") as topic:
            for_a_while = self._traffic(MESSAGES_MAX, stand.scale.seconds_per_run)
            produced = stand.librdkafka("produce", server, topic, for_a_while)
            all_of_them = self._traffic(produced.messages, stand.scale.seconds_max)
            consumed = stand.librdkafka("consume", server, topic, all_of_them)
            return produced, consumed.with_memory(server.session_resident_mb())

    def requests(
        self, stand: Stand, server: Server, number: int, connections: int, depth: int
    ) -> Sample:
        shape = Shape(REQUESTS_MAX, stand.scale.seconds_per_run, connections, depth)
        with self._topic(server, f"single-{connections}-{depth}-{number}") as topic:
            request = requests.produce(topic, one_record(SMALL_BYTES))
            return stand.send(server, request, shape)

    def latency(self, stand: Stand, server: Server, number: int, rate: int) -> Sample:
        traffic = Traffic(
            MESSAGE_BYTES,
            int(rate * stand.scale.latency_seconds),
            stand.scale.seconds_max,
            self.partitions,
            rate=rate,
            overrides=("linger.ms=0",),
        )
        with self._topic(server, f"paced-{rate}-{number}") as topic:
            return stand.librdkafka("latency", server, topic, traffic)

    def _traffic(self, count: int, seconds_max: float) -> Traffic:
        return Traffic(MESSAGE_BYTES, count, seconds_max, self.partitions)

    @contextmanager
    def _topic(self, server: Server, name: str) -> Iterator[str]:
        address = server.host_and_port
        configs = {**_DELETE_AT_ONCE, **self.configs}
        kafka.create_topic(
            address, name, partitions=self.partitions, configs=configs, replicas=self.replicas
        )
        yield name
        kafka.delete_topic(address, name)
