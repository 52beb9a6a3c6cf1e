"""A whole run: rows, verdicts, peers and the machine; written as JSON, read back for the README."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench import cells
from bench.goals import Verdict, is_disturbed, judge
from bench.peers.peer import PeerResult
from bench.peers.queue_peer import QueuePeerResult
from bench.rows import Row
from bench.table import print_table

LEGEND = """\
Medians of interleaved runs. The floor of bare requests is a uvloop server that only moves the
same bytes to or from the same disk; of librdkafka producing, librdkafka's own in-memory broker in
C; of librdkafka consuming, the bare sendfile server driven by a C program, so only its CPU
compares; of queues, a uvloop server that parses the same HTTP requests with the same library and
answers a constant; of queues that hold much, a node on which they hold little; of Spark's reads,
a Python source that yields one Arrow batch again and again. CPU is the server's, or that of all of
Spark; *core* its share of one; *spread* half the range of the runs over their median; *others*
what unrelated processes used meanwhile, in cores. A goal is void where the run was too disturbed
to decide it. A MB is 10^6 bytes."""
DISTURBED = "other processes used more than a quarter of a core meanwhile."


@dataclass(frozen=True, slots=True)
class Report:
    machine: dict[str, str]
    command: str
    rows: list[Row]
    peers: list[PeerResult]
    queue_peers: list[QueuePeerResult] = field(default_factory=list)

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        fields: dict[str, Any] = {
            "machine": self.machine,
            "command": self.command,
            "rows": [row.to_json() for row in self.rows],
            "goals": [asdict(verdict) for verdict in judge(self.rows)],
            "peers": [asdict(peer) for peer in self.peers],
            "queue_peers": [asdict(peer) for peer in self.queue_peers],
        }
        path.write_text(json.dumps(fields, indent=1) + "\n")

    @staticmethod
    def read(path: Path) -> "Report":
        fields = json.loads(path.read_text())
        return Report(
            machine=fields["machine"],
            command=fields["command"],
            rows=[Row.from_json(row) for row in fields["rows"]],
            peers=[PeerResult(**peer) for peer in fields["peers"]],
            queue_peers=[QueuePeerResult(**peer) for peer in fields.get("queue_peers", [])],
        )

    @property
    def failed(self) -> bool:
        return any(row.failed for row in self.rows)

    def print(self) -> None:
        if self.rows:
            print_table("Workloads", cells.HEADINGS, [cells.workload_cells(r) for r in self.rows])
        if judged := self._judged():
            print_table("Goals", cells.GOAL_HEADINGS, [cells.goal_cells(v) for v in judged])
        if self.peers:
            print_table("Peers", cells.PEER_HEADINGS, [cells.peer_cells(p) for p in self.peers])
        if self.queue_peers:
            lines = [cells.queue_peer_cells(peer) for peer in self.queue_peers]
            print_table("Peers of queues", cells.QUEUE_PEER_HEADINGS, lines)

    def markdown(self) -> str:
        parts = ["## Performance", "", _machine_sentence(self.machine), "", f"    {self.command}"]
        parts += [
            "",
            *_markdown_table(cells.HEADINGS, [cells.workload_cells(r) for r in self.rows]),
        ]
        parts += ["", LEGEND]
        if disturbed := [row for row in self.rows if is_disturbed(row)]:
            parts += ["", f"{len(disturbed)} of {len(self.rows)} rows are disturbed: {DISTURBED}"]
        if judged := self._judged():
            goals = [cells.goal_cells(verdict) for verdict in judged]
            parts += ["", *_markdown_table(cells.GOAL_HEADINGS, goals)]
        if self.peers:
            peers = [cells.peer_cells(peer) for peer in self.peers]
            parts += ["", *_markdown_table(cells.PEER_HEADINGS, peers)]
        if self.queue_peers:
            peers = [cells.queue_peer_cells(peer) for peer in self.queue_peers]
            parts += ["", *_markdown_table(cells.QUEUE_PEER_HEADINGS, peers)]
        return "\n".join(parts) + "\n"

    def _judged(self) -> list[Verdict]:
        """Goals that this run measured."""
        return [verdict for verdict in judge(self.rows) if verdict.measured is not None]


def _machine_sentence(machine: dict[str, str]) -> str:
    return (
        f"Measured on {machine['date']}: {machine['cpu']}, {machine['cores']} cores, "
        f"{machine['memory']}, Linux {machine['kernel']}, {machine['filesystem']}, "
        f"{machine['python']}, {machine['versions']}, librdkafka {machine['librdkafka']}."
    )


def _markdown_table(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    rule = ["---"] * len(headings)
    return ["| " + " | ".join(line) + " |" for line in (headings, rule, *lines)]
