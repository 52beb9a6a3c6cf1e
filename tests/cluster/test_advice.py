"""What the load suggests is done by a command, in a cluster of real nodes."""

import json
import subprocess
import sys
from pathlib import Path

from tests.cluster.test_scaling import copies, until_copies
from tests.harness.cluster import Cluster

TOPIC = "advised"


def test_partitions_go_where_the_advice_says(cluster: Cluster, tmp_path: Path) -> None:
    cluster.create_topic(TOPIC, 2, copies=2)
    before = copies(cluster, TOPIC)
    (spare,) = {1, 2, 3} - set(before[0][1])
    wanted = [spare, before[0][1][0]]
    file = tmp_path / "advice.json"
    actions = [
        {"type": "move_partition", "topic": TOPIC, "partition": 0, "replicas": wanted},
        {"type": "add_partitions", "topic": TOPIC, "partitions": 3},
    ]
    file.write_text(json.dumps({"version": 1, "made_ms": 0, "actions": actions}))
    command = [sys.executable, "-m", "duolog", "cluster", "apply", str(file), "--yes"]
    node = cluster.running[0].kafka
    done = subprocess.run(
        [*command, "--kafka", node, "-o", "json"], capture_output=True, check=True, timeout=60
    )
    assert [row["state"] for row in json.loads(done.stdout)] == ["done", "done"]
    found = until_copies(
        cluster,
        lambda found: found[0][1] == wanted and sorted(found[0][2]) == sorted(wanted),
        TOPIC,
    )
    assert len(found) == 3
