"""The command lines of a local cluster's processes."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from duolog.app.data_directory import StartRefused
from duolog.app.local.layout import CLUSTER_NAME, EtcdMember, Layout, LocalNode

_IN_SYNC_MIN = 2


def etcd_command(layout: Layout, member: EtcdMember, directory: Path) -> list[str]:
    program = shutil.which("etcd")
    if program is None:
        raise StartRefused(
            "etcd is not installed, and a cluster keeps its metadata in it."
            " Run: sudo apt-get install -y etcd-server"
        )
    client, peer = f"http://{member.client}", f"http://{member.peer}"
    members = ",".join(f"{each.name}=http://{each.peer}" for each in layout.etcd)
    return [
        program,
        *("--name", member.name),
        *("--data-dir", str(directory / f"etcd-{member.name}")),
        *("--listen-client-urls", client),
        *("--advertise-client-urls", client),
        *("--listen-peer-urls", peer),
        *("--initial-advertise-peer-urls", peer),
        *("--initial-cluster", members),
        *("--heartbeat-interval", "50"),
        *("--election-timeout", "300"),
        *("--auto-compaction-mode", "periodic"),
        *("--auto-compaction-retention", "1h"),
    ]


def node_command(
    layout: Layout, node: LocalNode, directory: Path, ready_file: Path, more: Sequence[str]
) -> list[str]:
    in_sync = min(_IN_SYNC_MIN, len(layout.nodes))
    command = [
        *(sys.executable, "-m", "duolog", "serve"),
        *("--cluster", CLUSTER_NAME),
        *("--store", layout.store),
        *("--node-id", str(node.id)),
        *("--data", str(directory / node.data_name)),
        *("--kafka", node.kafka),
        *("--sqs", node.sqs),
        *("--admin", node.admin),
        *("--peer", node.peer),
        *("--ready-file", str(ready_file)),
        # All nodes share this machine, so each gets a host name of its own: replicas go to
        # different hosts.
        *("--set", f"node.host=node-{node.id}"),
        *("--set", f"topic.min.insync.replicas={in_sync}"),
    ]
    for assignment in more:
        command += ["--set", assignment]
    return command
