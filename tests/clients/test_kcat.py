"""kcat, as people use it from a shell."""

import shutil
import subprocess

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

pytestmark = pytest.mark.skipif(shutil.which("kcat") is None, reason="kcat is not installed")

SECONDS_MAX = 20


def kcat(address: str, *arguments: str, given: str = "") -> str:
    """What it writes to stdout."""
    done = subprocess.run(
        ["kcat", "-b", address, *arguments],
        input=given,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_lines_go_in_and_come_out(address: str, admin: AdminClient, topic: str, codec: str) -> None:
    admin.create_topics([NewTopic(topic, 1)])[topic].result(10)
    lines = "".join(f"key{each}:value {each}\n" for each in range(200))
    kcat(address, "-P", "-t", topic, "-K:", "-z", codec, "-H", "from=kcat", given=lines)
    shown = kcat(address, "-C", "-t", topic, "-o", "beginning", "-e", "-q", "-f", "%k:%s\n")
    assert shown == lines
    shown = kcat(address, "-C", "-t", topic, "-o", "-1", "-e", "-q", "-f", "%o %h\n")
    assert shown == "199 from=kcat\n"


def test_topics_are_listed(address: str, admin: AdminClient, topic: str) -> None:
    admin.create_topics([NewTopic(topic, 3)])[topic].result(10)
    assert f'topic "{topic}" with 3 partitions' in kcat(address, "-L")
    assert f'topic "{topic}" with 3 partitions' in kcat(address, "-L", "-t", topic)


def test_offsets_are_asked_for_by_time(address: str, topic: str) -> None:
    kcat(address, "-P", "-t", topic, given="a\nb\n")
    assert kcat(address, "-Q", "-t", f"{topic}:0:-1").strip().endswith("offset 2")
    assert kcat(address, "-Q", "-t", f"{topic}:0:1000").strip().endswith("offset 0")


def test_a_group_reads_each_line_once(address: str, topic: str, group: str) -> None:
    kcat(address, "-P", "-t", topic, given="one\ntwo\n")
    options = ("-q", "-e", "-X", "auto.offset.reset=earliest")
    assert kcat(address, "-G", group, *options, topic) == "one\ntwo\n"
    kcat(address, "-P", "-t", topic, given="three\n")
    assert kcat(address, "-G", group, *options, topic) == "three\n"
