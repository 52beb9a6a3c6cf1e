"""Ours, driven as its peers are."""

from contextlib import AbstractContextManager
from importlib import metadata

from bench.comparison.standing import ON_DISK, PAGE_CACHE, Contestant
from bench.drives.kafka import KafkaDrive
from bench.peers.peer import TopicServer
from bench.processes import Server
from bench.stand import Stand

NAME = "Duolog"
LABEL = "-compared"


def missing() -> str | None:
    return None


def version() -> str:
    return metadata.version("duolog")


def server(*, on_disk: bool) -> TopicServer:
    durability = "fsync" if on_disk else "os"
    drive = KafkaDrive()
    contestant = Contestant(
        f"{NAME}, {durability}",
        version(),
        ON_DISK if on_disk else PAGE_CACHE,
        f"defaults, with topic.durability={durability}",
        drive.client,
    )

    def serve(stand: Stand) -> AbstractContextManager[Server]:
        return stand.broker("fsync" if on_disk else "os", label=LABEL)

    return TopicServer(contestant, serve, drive)
