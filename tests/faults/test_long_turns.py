"""A test fails if a turn of a node's event loop takes long on a host that was not busy."""

import sys
from pathlib import Path

import pytest
from tests.harness import node as harness
from tests.harness.node import Node, NodeFailed

# Runs the command that follows, with a node whose loop is held up once it serves.
HELD_UP = """
import asyncio, runpy, sys, time
import duolog.app.node as node

def hold_up():
    until = time.thread_time() + 0.3
    while time.thread_time() < until:
        pass

see_to_duties = node._see_to_duties

def see_to_duties_and_hold_up(*args):
    see_to_duties(*args)
    asyncio.get_running_loop().call_later(0.1, hold_up)

node._see_to_duties = see_to_duties_and_hold_up
sys.argv = ["duolog", *sys.argv[sys.argv.index("serve"):]]
runpy.run_module("duolog", run_name="__main__")
"""


@pytest.mark.parametrize("starved", [0.0, 0.5])
def test_a_turn_of_300_ms_fails_the_test_unless_the_host_was_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, starved: float
) -> None:
    monkeypatch.setattr(harness, "run_delay_share", lambda pid: starved)
    monkeypatch.setattr(harness, "slowness", lambda: 1.0)
    node = Node(tmp_path, wrapper=[sys.executable, "-c", HELD_UP]).start()
    while not node.metric("duolog_long_turns_total"):
        pass
    if starved:
        node.stop()
    else:
        with pytest.raises(NodeFailed, match="hold_up"):
            node.stop()
