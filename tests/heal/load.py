"""Everything that uses the cluster while it is hurt, and what all of it was promised."""

import time
from collections import Counter
from collections.abc import Sequence

from confluent_kafka import Message
from tests.harness.cluster import Cluster
from tests.harness.group_load import GroupLoad, Member
from tests.harness.load import NumberedLoad
from tests.harness.queue_ledger import DOUBLED, LOST, OUT_OF_ORDER, QueueLedger
from tests.heal.kafka_clients import CommitProbe, FetchProbe, ProduceProbe
from tests.heal.pace import Pace
from tests.heal.queue_clients import Receiver, Sender
from tests.heal.timeline import Client, Timeline
from tests.heal.topic_ledger import Findings, judge_partition
from tests.heal.topic_reader import read_stored

TOPIC = "numbers"
PARTITIONS = 6
MEMBERS = 2
MEMBERS_GROUP = "readers"
BURST = 1
BURST_SECONDS = 0.1
DRAIN_SECONDS_MAX = 40.0
LOOK_SECONDS = 0.05
JOIN_SECONDS_MAX = 10.0


class _Member(Member):
    def is_right(self, record: Message) -> bool:
        """Numbers are checked where the whole topic is read: probes are between them."""
        return True


class Load:
    """A context manager: clients that go on whatever happens."""

    def __init__(
        self,
        cluster: Cluster,
        queues: Sequence[str],
        groups: Sequence[str],
        topic: str,
        committed: Sequence[int],
        pace: Pace,
    ) -> None:
        """`queues`: their URLs. `groups` have committed these offsets of `topic`."""
        self._cluster = cluster
        nodes = list(cluster.nodes.values())
        clients = [
            *(Client(kind, f"{TOPIC}/{at}") for kind in ("produce", "fetch") for at in _INDEXES),
            *(Client("commit", group) for group in groups),
            *(
                Client(kind, url.rsplit("/", 1)[1])
                for kind in ("send", "receive")
                for url in queues
            ),
        ]
        self.timeline = Timeline(clients)
        self.ledgers = {url: QueueLedger(fifo=url.endswith(".fifo")) for url in queues}
        self._produce = [ProduceProbe(nodes, self.timeline, TOPIC, at, pace) for at in _INDEXES]
        self._fetch = [FetchProbe(nodes, self.timeline, TOPIC, at, pace) for at in _INDEXES]
        self._commit = [
            CommitProbe(nodes, self.timeline, group, topic, committed, pace) for group in groups
        ]
        self._senders = [
            Sender(nodes, self.timeline, url, ledger, pace) for url, ledger in self.ledgers.items()
        ]
        self._receivers = [
            Receiver(nodes, self.timeline, url, ledger, pace)
            for url, ledger in self.ledgers.items()
        ]
        self._kafka = [*self._produce, *self._fetch, *self._commit]
        self._all = [*self._kafka, *self._senders, *self._receivers]
        self._numbers = NumberedLoad(
            cluster.bootstrap, TOPIC, PARTITIONS, burst=BURST, rest_seconds=BURST_SECONDS
        )
        self._group = GroupLoad(cluster.bootstrap, TOPIC, MEMBERS_GROUP, MEMBERS, _Member)

    @property
    def acknowledged(self) -> int:
        """Records, messages, deletions and commits."""
        return (
            self._numbers.total
            + sum(len(probe.acknowledged) for probe in self._produce)
            + sum(probe.acknowledged for probe in self._commit)
            + self._group.offsets.commits
            + sum(each.sent_count + each.deleted_count for each in self.ledgers.values())
        )

    @property
    def refusals(self) -> Counter[str]:
        """What clients were told instead of an answer, and how often, since the start."""
        return sum((each.refusals for each in self._all), Counter())

    @property
    def failures(self) -> list[str]:
        """Clients that have ended, and the like: nothing that a node may do."""
        return [
            *self._numbers.failures,
            *(each for probe in self._kafka for each in probe.failures),
            *(f"{each.name} has ended" for each in self._all if not each.is_alive()),
        ]

    def judge(self) -> Findings:
        """All findings since the start. Drains the queues, and reads the topic from its start."""
        found = self._judge_queues()
        numbers = list(self._numbers.acknowledged)
        probes = [list(probe.acknowledged) for probe in self._produce]
        for at, stored in enumerate(read_stored(self._cluster.bootstrap, TOPIC, PARTITIONS)):
            found += judge_partition(f"{TOPIC}/{at}", stored, numbers[at], probes[at])
        for lost in (*(each for probe in self._commit for each in probe.lost), *self._commits()):
            found += Findings(lost=1, examples=[lost])
        return found

    def _commits(self) -> list[str]:
        """Commits of the members that were found to be lost."""
        return self._group.offsets.failures

    def _judge_queues(self) -> Findings:
        for sender in self._senders:
            sender.is_paused = True
        deadline = time.monotonic() + DRAIN_SECONDS_MAX
        while time.monotonic() < deadline and any(
            ledger.missing() for ledger in self.ledgers.values()
        ):
            time.sleep(LOOK_SECONDS)
        found = Findings()
        for url, ledger in self.ledgers.items():
            name = url.rsplit("/", 1)[1]
            missing = ledger.missing()
            broken = ledger.broken
            examples = [f"{name}: {each}" for each in ledger.failures]
            if missing:
                examples.append(f"{name}: {len(missing)} are lost, such as {missing[:3]}")
            found += Findings(
                broken[LOST] + len(missing), broken[DOUBLED], broken[OUT_OF_ORDER], examples
            )
        for sender in self._senders:
            sender.is_paused = False
        return found

    def __enter__(self) -> "Load":
        self._numbers.__enter__()
        self._group.__enter__()
        for each in self._all:
            each.start()
        return self

    def __exit__(self, *error: object) -> None:
        for each in self._all:
            each.stop()
        self._group.__exit__()
        self._numbers.__exit__(*error)
        for each in self._all:
            each.join(JOIN_SECONDS_MAX)


_INDEXES = range(PARTITIONS)
