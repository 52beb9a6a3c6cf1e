"""Where the blocks of a page run: a scratch folder, and a node or a cluster of their own.

A page names the addresses that a node has unless told otherwise. The test's have others, so that
text is translated on its way in, and what was printed on its way out.
"""

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.harness.local_cluster import LocalCluster
from tests.harness.node import Node
from tests.harness.ports import free_port

ROOT = Path(__file__).parents[2]
USUAL_PORTS = {"kafka": 9092, "sqs": 9324, "admin": 9325}
READERS_PORT = 8000
"""Where pages have programs of the reader's own listen."""
PORTS_APART = 10
"""Of one node of a local cluster and the next."""
LINKED = ("examples", "deploy")
"""Folders of the repository that commands on pages name."""
SPARK_OPTIONS = (
    "--master local[2] --driver-memory 1g --conf spark.ui.enabled=false"
    " --conf spark.driver.host=127.0.0.1 --conf spark.driver.bindAddress=127.0.0.1"
    " --driver-java-options -XX:+UseSerialGC\\ -XX:TieredStopAtLevel=1"
    " --conf spark.sql.shuffle.partitions=2 --conf spark.log.level=OFF pyspark-shell"
)


class Addresses:
    """Those that pages name, and those that the test's nodes have."""

    def __init__(self, real: Mapping[int, str]) -> None:
        self._real = dict(real)

    def into(self, text: str) -> str:
        for port, address in self._real.items():
            text = re.sub(rf"\b(127\.0\.0\.1|localhost|0\.0\.0\.0):{port}\b", address, text)
        return text

    def out_of(self, text: str) -> str:
        for port, address in self._real.items():
            text = text.replace(address, f"127.0.0.1:{port}")
        return text


class NodePlace:
    """One node. It is started when a block needs it, and again by `duolog serve` on the page."""

    def __init__(self, directory: Path) -> None:
        self.scratch = new_scratch(directory)
        self.node = Node(directory)
        self.addresses = Addresses(
            {port: getattr(self.node, door) for door, port in USUAL_PORTS.items()}
            | {READERS_PORT: f"127.0.0.1:{free_port()}"}
        )
        self.environ = _environ(self.scratch, self.node.kafka, self.node.sqs, self.node.admin)

    def ready(self) -> None:
        if not self.node.running:
            self.serve([], {})

    def serve(self, options: list[str], environ: Mapping[str, str]) -> str:
        """`duolog serve`, as the page has it, but for addresses. Returns what it printed.

        Raises ValueError for what a page's node cannot be.
        """
        self.node.options = self._options(options)
        variables = [f"{name}={value}" for name, value in environ.items()]
        self.node.wrapper = ["env", f"--chdir={self.scratch}", *variables]
        self.node.restart()
        return self.node.log_text

    @property
    def log_text(self) -> str:
        return self.node.log_text

    def _options(self, given: list[str]) -> list[str]:
        kept: list[str] = []
        for option, value in zip(given[::2], given[1::2], strict=True):
            if option in ("--set", "--config"):
                kept += [option, value]
            elif option == "--data":
                self.node.data = self.scratch / value
            elif option not in ("--kafka", "--sqs", "--admin"):
                raise ValueError(f"{option} cannot be tried on a page's node")
        return kept

    def end(self) -> None:
        if self.node.running:
            self.node.stop()


class ClusterPlace:
    """Three nodes and their etcd, as `duolog cluster up` starts them."""

    def __init__(self, directory: Path) -> None:
        self.scratch = new_scratch(directory)
        self._cluster = LocalCluster(self.scratch, "duolog-cluster")
        self._cluster.start()
        nodes = self._cluster.described["nodes"]
        self.addresses = Addresses(
            {
                port + PORTS_APART * number: node[door]
                for number, node in enumerate(nodes)
                for door, port in USUAL_PORTS.items()
            }
        )
        self.environ = _environ(self.scratch, *(nodes[0][door] for door in USUAL_PORTS))
        self._cluster.until_well()

    @property
    def log_text(self) -> str:
        """What `duolog cluster up` printed."""
        return self._cluster.output.read_text()

    def ready(self) -> None:
        """It is."""

    def serve(self, options: list[str], environ: Mapping[str, str]) -> str:
        raise ValueError("a cluster runs here already; `duolog serve` needs a block without it")

    def end(self) -> None:
        self._cluster.__exit__()


def new_scratch(directory: Path) -> Path:
    """What a reader's clone looks like to the commands of a page."""
    scratch = directory / "scratch"
    scratch.mkdir(parents=True)
    (scratch / ".venv").symlink_to(sys.prefix)
    for name in LINKED:
        if (ROOT / name).exists():
            (scratch / name).symlink_to(ROOT / name)
    return scratch


def _environ(scratch: Path, kafka: str, sqs: str, admin: str) -> dict[str, str]:
    """A shell in which the environment is activated, and nobody's own settings play a part."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("DUOLOG_", "AWS_", "PYTEST", "SPARK", "PYSPARK"))
    }
    return inherited | {
        "HOME": str(scratch),
        "PATH": f"{scratch / '.venv' / 'bin'}:{inherited['PATH']}",
        "PYSPARK_SUBMIT_ARGS": SPARK_OPTIONS,
        "PYTHONDONTWRITEBYTECODE": "1",
        "DUOLOG_KAFKA_LISTEN": kafka,
        "DUOLOG_SQS_LISTEN": sqs,
        "DUOLOG_ADMIN_LISTEN": admin,
    }
