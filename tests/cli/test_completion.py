"""The Tab key, in real shells on a real terminal."""

import os
import pty
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.cli.conftest import Command

SHELL_SECONDS_MAX = 60.0
TRIES = 3
INTERRUPT = "\x03"
SHELLS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
SET_UP = {
    "bash": "source {script}; echo re''ady",
    "zsh": "autoload -Uz compinit; compinit -u -D; source {script}; echo re''ady",
    "fish": "source {script}; echo re''ady",
}
"""Typed first; the terminal shows `ready` once it is done, not while it is typed."""


@dataclass
class Terminal:
    leader: int
    shown: str = ""

    def type(self, text: str) -> None:
        os.write(self.leader, text.encode())

    def type_until(self, text: str, is_so: Callable[[str], bool]) -> str:
        """All that was shown. Typed again if names did not come in the time that Tab gives them,
        which on a busy machine can happen."""
        for _ in range(TRIES - 1):
            self.type(text)
            try:
                return self.until(is_so, SHELL_SECONDS_MAX / TRIES)
            except AssertionError:
                self.type(INTERRUPT)
        self.type(text)
        return self.until(is_so)

    def until(self, is_so: Callable[[str], bool], seconds_max: float = SHELL_SECONDS_MAX) -> str:
        """All that was shown since the last time."""
        deadline = time.monotonic() + seconds_max
        while not is_so(self.shown):
            left = max(deadline - time.monotonic(), 0)
            assert select.select([self.leader], [], [], left)[0], self.shown
            self.shown += os.read(self.leader, 10_000).decode(errors="replace")
        shown, self.shown = self.shown, ""
        return shown


@contextmanager
def terminal(shell: str, duolog: Command, directory: Path) -> Iterator[Terminal]:
    """A shell in which `duolog` is on the PATH and completed as its help says."""
    program = directory / "duolog"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m duolog "$@"\n')
    program.chmod(0o755)
    script = directory / f"duolog.{shell}"
    script.write_text(duolog("completion", shell).out)
    environ = duolog.environ | {
        "PATH": f"{directory}:{os.environ['PATH']}",
        "HOME": str(directory),
        "TERM": "dumb",
        "COLUMNS": "200",
    }
    process, leader = pty.fork()
    if process == 0:
        os.chdir(directory)
        os.execvpe(SHELLS[shell][0], SHELLS[shell], environ)
    try:
        opened = Terminal(leader)
        opened.type(SET_UP[shell].format(script=script) + "\n")
        opened.until(lambda shown: "ready" in shown)
        yield opened
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(leader)


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    return name


def test_the_tab_key_completes_verbs_and_names_from_the_node(
    duolog: Command, name: str, shell: str, tmp_path: Path
) -> None:
    duolog.json("queue", "create", f"{shell}-tabbed")
    with terminal(shell, duolog, tmp_path) as typing:
        shown = typing.type_until(
            f"duolog que\tinf\t{shell}-t\t-o jsonl\n", lambda shown: '"topic_records": 0' in shown
        )
    assert f'"name": "{shell}-tabbed"' in shown


def test_a_place_for_a_file_is_completed_with_files(
    duolog: Command, shell: str, tmp_path: Path
) -> None:
    (tmp_path / "settings.toml").write_text("[num]\npartitions = 77\n")
    with terminal(shell, duolog, tmp_path) as typing:
        typing.type("duolog config show --config setti\t-o jsonl\n")
        typing.until(lambda shown: '"num.partitions", "value": "77"' in shown)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (("topic", "cons"), ["consume"]),
        (("topic", "ls", "--ka"), ["--kafka"]),
        (("queue", "peek", "any", "--state", "de"), ["delayed", "dead"]),
        (("serve", "--set", "kafka.lis"), ["kafka.listen="]),
        (("pipeline", "run", "bil"), ["billing"]),
        (("topic", "info", "--kafka", "127.0.0.1:1", ""), []),
        (("topic", "ls", "--output=js"), ["--output=json", "--output=jsonl"]),
    ],
)
def test_what_is_asked_for_is_a_list_of_words(
    duolog: Command, typed: tuple[str, ...], words: list[str]
) -> None:
    done = duolog("complete", "fish", "--", *typed)
    first, *others = done.out.splitlines()
    assert (done.code, done.err, first) == (0, "", "words")
    assert [line.partition("\t")[0] for line in others] == words


def test_groups_and_topics_are_completed(duolog: Command, name: str) -> None:
    duolog.json("topic", "create", name)
    duolog("group", "reset", f"group-of-{name}", "--topic", name, "--to", "start", "--yes")
    assert f"group-of-{name}" in duolog("complete", "zsh", "--", "group", "info", "").out.split()
    assert name in duolog("complete", "zsh", "--", "topic", "info", name).out.split()


def test_nothing_is_completed_while_the_node_is_down(duolog: Command) -> None:
    nowhere = {name: "127.0.0.1:1" for name in duolog.environ if name.startswith("DUOLOG_")}
    done = Command(duolog.environ | nowhere)("complete", "bash", "--", "duolog queue info ", "")
    assert (done.code, done.out, done.err) == (0, "words\n", "")


def test_bash_takes_a_colon_for_the_end_of_a_word(duolog: Command) -> None:
    done = duolog("complete", "bash", "--", "duolog topic ls -o=js", "js")
    assert done.out.split() == ["words", "json", "jsonl"]
