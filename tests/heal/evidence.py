"""Copies of what nodes have stored, made as soon as a promise was found broken."""

import shutil
from contextlib import suppress

from tests.heal.place import Place


def keep_evidence(place: Place, name: str) -> None:
    """Beside the nodes' logs, which stay after the run; their disks do not."""
    for number, node in place.cluster.nodes.items():
        # Files come and go while a node runs.
        with suppress(OSError, shutil.Error):
            shutil.copytree(node.data, place.directory / "evidence" / name / f"node-{number}")
