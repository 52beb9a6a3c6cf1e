"""How long writes wait when a leader is killed, and how long until another controller decides."""

import time
from collections.abc import Iterator
from statistics import median

from confluent_kafka import KafkaError, Message, Producer

from bench import kafka, local_cluster
from bench.local_cluster import LocalCluster
from bench.rows import Row
from bench.samples import Figures
from bench.stand import Stand

PARTITIONS = 100
MANY_PARTITIONS = 1_000
TOPIC = "watched"
RESUME_SECONDS_MAX = 30.0
_PROBE_SECONDS = 0.01
_WARM_UP_SECONDS = 2.0


class Prober:
    """Keeps one record under way to each partition, and notes when each was acknowledged."""

    def __init__(self, bootstrap: str, partitions: int) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 0,
                "request.timeout.ms": 3_000,
                "retry.backoff.ms": 50,
                "retry.backoff.max.ms": 200,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 200,
                "topic.metadata.refresh.interval.ms": 1_000,
                "log_level": 0,
            }
        )
        self.sent_at: dict[int, float] = {}
        """By partition, when the record that is under way was sent."""
        self.resumed: dict[int, float] = {}
        """By partition, when the first record sent after the mark was acknowledged."""
        self._mark = 0.0
        self._partitions = range(partitions)

    def mark(self, at: float) -> None:
        self._mark = at
        self.resumed.clear()

    def pump(self) -> None:
        for partition in self._partitions:
            if partition not in self.sent_at:
                self.sent_at[partition] = time.monotonic()
                self._producer.produce(
                    TOPIC, b"probe", partition=partition, on_delivery=self._delivered
                )
        self._producer.poll(_PROBE_SECONDS)

    def pump_for(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.pump()

    def _delivered(self, error: KafkaError | None, record: Message) -> None:
        partition = record.partition()
        assert partition is not None
        sent_at = self.sent_at.pop(partition)
        now = time.monotonic()
        # One that was sent before the kill may have been acknowledged by the dead leader.
        if error is None and (sent_at >= self._mark or now > self._mark + _PROBE_SECONDS):
            self.resumed.setdefault(partition, now)


def leader_killed(stand: Stand) -> Iterator[Row]:
    yield from _fail_overs(stand, "cluster/fail-over", "a leader killed", etcd_members=1)


def both_killed(stand: Stand) -> Iterator[Row]:
    yield from _fail_overs(
        stand, "cluster/fail-over-etcd", "a leader and etcd's leader killed", etcd_members=3
    )


def _fail_overs(stand: Stand, key: str, what: str, *, etcd_members: int) -> Iterator[Row]:
    waits: list[float] = []
    with local_cluster.running(stand.directory, etcd_members=etcd_members) as cluster:
        address = cluster.server.host_and_port
        kafka.create_topic(
            address,
            TOPIC,
            partitions=PARTITIONS,
            configs={"min.insync.replicas": "2"},
            replicas=len(cluster.nodes),
        )
        cluster.until_settled()
        prober = Prober(cluster.bootstrap, PARTITIONS)
        # An etcd of three survives the loss of one member, once.
        rounds = stand.scale.rounds if etcd_members == 1 else 1
        for number in range(rounds):
            stand.progress(f"{what}: round {number + 1} of {rounds}")
            victim = number % len(cluster.nodes) + 1
            waits += _one(cluster, prober, victim, kill_etcd=etcd_members > 1)
            cluster.order("start", victim)
            cluster.until_settled()
    figures = Figures(
        p50_us=median(waits) * 1e6,
        p99_us=sorted(waits)[int(len(waits) * 0.99)] * 1e6,
        seconds=max(waits),
        population=len(waits),
    )
    title = f"writes resume, {what}, {PARTITIONS} partitions"
    yield Row(key, title, "p99_us", figures)


def _one(cluster: LocalCluster, prober: Prober, victim: int, *, kill_etcd: bool) -> list[float]:
    """How long the writes to each partition waited that the victim led."""
    prober.pump_for(_WARM_UP_SECONDS)
    led = _led_by(cluster, victim)
    if kill_etcd:
        cluster.kill_etcd_leader()
    began = cluster.kill_node(victim)
    prober.mark(began)
    deadline = began + RESUME_SECONDS_MAX
    while not led <= prober.resumed.keys() and time.monotonic() < deadline:
        prober.pump()
    return [prober.resumed.get(partition, deadline) - began for partition in led]


def _led_by(cluster: LocalCluster, node: int) -> set[int]:
    metadata = Producer({"bootstrap.servers": cluster.bootstrap}).list_topics(TOPIC, timeout=10)
    partitions = metadata.topics[TOPIC].partitions
    return {index for index, each in partitions.items() if each.leader == node}


def controller_killed(stand: Stand) -> Iterator[Row]:
    """Until another controller has elected leaders for everything that the killed one led."""
    waits = []
    with local_cluster.running(stand.directory) as cluster:
        kafka.create_topic(
            cluster.server.host_and_port,
            TOPIC,
            partitions=MANY_PARTITIONS,
            configs={},
            replicas=len(cluster.nodes),
        )
        cluster.until_settled()
        for number in range(stand.scale.rounds):
            stand.progress(f"the controller killed: round {number + 1} of {stand.scale.rounds}")
            victim = cluster.described()["controller"]
            began = cluster.kill_node(victim)
            waits.append(_until_led(cluster, victim) - began)
            cluster.order("start", victim)
            cluster.until_settled()
    title = f"another controller has decided, {MANY_PARTITIONS:,} partitions"
    figures = Figures(seconds=median(waits), population=MANY_PARTITIONS)
    yield Row("cluster/controller", title, "seconds", figures)


def _until_led(cluster: LocalCluster, victim: int) -> float:
    deadline = time.monotonic() + RESUME_SECONDS_MAX
    while time.monotonic() < deadline:
        told = cluster.described()
        led = {node["id"]: node["leads"] for node in told["nodes"]}
        if (
            told["controller"] not in (None, victim)
            and not told["partitions"]["leaderless"]
            and not led.get(victim)
        ):
            break
        time.sleep(_PROBE_SECONDS)
    return time.monotonic()
