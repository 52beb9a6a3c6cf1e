"""ElasticMQ, from the server's jar that ELASTICMQ_JAR names."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from bench import processes
from bench.peers.queue_peer import MEMORY, QueueTrial
from bench.processes import Server
from bench.stand import Stand


def missing() -> str | None:
    if "ELASTICMQ_JAR" not in os.environ:
        return "ELASTICMQ_JAR"
    return None if shutil.which("java") else "java"


def trials() -> Sequence[QueueTrial]:
    return [QueueTrial("ElasticMQ", MEMORY, _serve)]


@contextmanager
def _serve(stand: Stand) -> Iterator[Server]:
    port = processes.free_port()
    argv = ["java", "-Drest-sqs.bind-hostname=127.0.0.1", f"-Drest-sqs.bind-port={port}"]
    argv += ["-Dnode-address.host=127.0.0.1", f"-Dnode-address.port={port}"]
    argv += ["-Drest-stats.enabled=false", "-jar", os.environ["ELASTICMQ_JAR"]]
    with processes.spawn("ElasticMQ", argv, log_path=stand.directory / "elasticmq.log") as server:
        processes.wait_for_port(server, port)
        yield server
