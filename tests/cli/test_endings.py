"""Signals, pipes and terminals."""

import os
import pty
import signal
import subprocess

import pytest
from tests.cli.conftest import SECONDS_MAX, Command, Eventually
from tests.harness.node import Node


@pytest.fixture
def topic(duolog: Command, name: str) -> str:
    duolog.json("topic", "create", name)
    duolog.json("topic", "produce", name, "one", "two")
    return name


def test_following_goes_on_until_it_is_interrupted(duolog: Command, topic: str) -> None:
    follower = duolog.start(
        "topic", "consume", topic, "--follow", "-f", r"%s\n", stdout=subprocess.PIPE
    )
    assert follower.stdout is not None
    assert [follower.stdout.readline() for _ in range(2)] == [b"one\n", b"two\n"]
    duolog.json("topic", "produce", topic, "three")
    assert follower.stdout.readline() == b"three\n"
    follower.send_signal(signal.SIGINT)
    assert follower.wait(SECONDS_MAX) == 130
    assert follower.stdout.read() == b""


def test_an_interrupted_array_is_still_json(duolog: Command, topic: str) -> None:
    follower = duolog.start(
        *("topic", "consume", topic, "--follow", "-o", "json"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert follower.stdout is not None
    assert follower.stdout.readline() == b"[\n"
    follower.send_signal(signal.SIGINT)
    out, err = follower.communicate(timeout=SECONDS_MAX)
    assert follower.returncode == 130
    assert out.rstrip().endswith(b"]")
    assert err == b""


def test_a_wait_for_messages_can_be_interrupted(
    duolog: Command, node: Node, name: str, eventually: Eventually
) -> None:
    duolog.json("queue", "create", name)
    waiting = duolog.start("queue", "receive", name, "--wait", "60", stderr=subprocess.PIPE)
    eventually(lambda: node.metric("duolog_queue_waiting_receives") == 1)
    waiting.send_signal(signal.SIGINT)
    _, err = waiting.communicate(timeout=SECONDS_MAX)
    assert (waiting.returncode, err) == (130, b"")


def test_whoever_reads_only_the_beginning_is_not_scolded(duolog: Command, topic: str) -> None:
    duolog("topic", "produce", topic, lines="x" * 50 + "\n" * 50_000)
    consumer = duolog.start(
        "topic", "consume", topic, "-o", "jsonl", stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert consumer.stdout is not None
    assert consumer.stdout.readline()
    consumer.stdout.close()
    assert consumer.stderr is not None
    assert consumer.stderr.read() == b""
    assert consumer.wait(SECONDS_MAX) == 0


def answered(duolog: Command, topic: str, answer: bytes | None) -> tuple[int, bytes]:
    """Remove a topic on a terminal; the exit code, and what the terminal showed.

    Without an answer, the question is interrupted.
    """
    leader, follower = pty.openpty()
    removing = duolog.start("topic", "rm", topic, stdin=follower, stdout=follower, stderr=follower)
    os.close(follower)
    shown = b""
    while b"to go on:" not in shown:
        shown += os.read(leader, 1_000)
    if answer is None:
        removing.send_signal(signal.SIGINT)
    else:
        os.write(leader, answer)
    code = removing.wait(SECONDS_MAX)
    try:
        while data := os.read(leader, 1_000):
            shown += data
    except OSError:
        # A terminal nobody holds open any more says EIO instead of an end.
        os.close(leader)
    return code, shown


def test_on_a_terminal_the_name_has_to_be_typed(duolog: Command, topic: str) -> None:
    code, shown = answered(duolog, topic, b"yes\n")
    assert code == 4
    assert b"loses 2 records in 1 partition for ever" in shown
    assert b"nothing was done" in shown
    assert duolog("topic", "info", topic).code == 0

    code, shown = answered(duolog, topic, topic.encode() + b"\n")
    assert code == 0
    assert duolog("topic", "info", topic).code == 3


def test_the_question_can_be_interrupted(duolog: Command, topic: str) -> None:
    code, _ = answered(duolog, topic, None)
    assert code == 130
    assert duolog("topic", "info", topic).code == 0


def test_nothing_is_coloured(duolog: Command, topic: str) -> None:
    _, shown = answered(duolog, topic, b"no\n")
    assert b"\x1b" not in shown
    assert "\x1b" not in duolog("topic", "ls").out


def test_a_produced_line_is_sent_before_the_next_is_typed(duolog: Command, topic: str) -> None:
    producer = duolog.start(
        *("topic", "produce", topic, "-o", "jsonl"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
    )
    assert producer.stdin is not None
    assert producer.stdout is not None
    producer.stdin.write(b"three\n")
    assert b'"offset": 2' in producer.stdout.readline()
    producer.stdin.write(b"four\n")
    assert b'"offset": 3' in producer.stdout.readline()
    producer.stdin.close()
    assert producer.wait(SECONDS_MAX) == 0


@pytest.mark.parametrize(
    ("command", "each"), [(("topic", "produce"), "a record"), (("queue", "send"), "a message")]
)
def test_who_types_is_told_that_the_command_waits_for_lines(
    duolog: Command, name: str, command: tuple[str, str], each: str
) -> None:
    duolog.json("queue", "create", name)
    leader, follower = pty.openpty()
    typing = duolog.start(*command, name, stdin=follower, stdout=follower, stderr=subprocess.PIPE)
    os.close(follower)
    assert typing.stderr is not None
    hint = typing.stderr.readline().decode()
    assert hint == f"Each line that you type becomes {each}. End with Ctrl-D.\n"
    os.write(leader, b"hello\n\x04")
    assert typing.wait(SECONDS_MAX) == 0
    assert b"1 " in typing.stderr.read()
    os.close(leader)


def test_nothing_is_said_to_a_pipe_that_brings_lines(duolog: Command, topic: str) -> None:
    assert "Each line" not in duolog("topic", "produce", topic, lines="one\n").err
