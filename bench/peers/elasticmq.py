"""ElasticMQ: a server of the SQS API on the JVM, in memory."""

from collections.abc import Iterator
from contextlib import contextmanager

from bench import processes
from bench.peers import maven
from bench.processes import Server
from bench.stand import Stand

NAME = "ElasticMQ"
VERSION = "1.7.1"
COORDINATES = f"org.elasticmq:elasticmq-server_2.13:{VERSION}"


def missing() -> str | None:
    return maven.missing(COORDINATES)


def version() -> str:
    return VERSION


@contextmanager
def serve(stand: Stand) -> Iterator[Server]:
    port = processes.free_port()
    argv = ["java", "-Drest-sqs.bind-hostname=127.0.0.1", f"-Drest-sqs.bind-port={port}"]
    argv += ["-Dnode-address.host=127.0.0.1", f"-Dnode-address.port={port}"]
    argv += ["-Drest-stats.enabled=false", "-cp", f"{maven.jars(COORDINATES)}/*"]
    argv += ["org.elasticmq.server.Main"]
    with processes.spawn(NAME, argv, log_path=stand.directory / "elasticmq.log") as server:
        processes.wait_for_port(server, port)
        yield server
