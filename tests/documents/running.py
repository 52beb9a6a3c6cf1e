"""Runs the blocks of a page in their order, and compares what they print with what is shown."""

import configparser
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
from contextlib import ExitStack
from importlib import metadata
from pathlib import Path

from tests.documents.blocks import CLUSTER, SPARK, Block
from tests.documents.commands import is_of_pip, parts_of, served_by, why_not
from tests.documents.places import ROOT, ClusterPlace, NodePlace
from tests.documents.sessions import PythonSession, Ran, ShellSession
from tests.documents.shown import differences

from duolog_pipelines.billing.price_list import parse_price_list

PRICE_LIST_KEYS = {"currency", "decimals", "list"}
SHELL_OF_SPARK = "from pyspark.sql import SparkSession; spark = SparkSession.builder.getOrCreate()"
"""What `pyspark` has done before its first prompt."""

STREAMS_HAVE_BEGUN = """
import time
deadline = time.monotonic() + 60
while any(each.lastProgress is None for each in spark.streams.active):
    assert time.monotonic() < deadline, "a stream does not begin"
    time.sleep(0.1)
spark.streams.awaitAnyTermination(0.1)
"""
"""A stream fails in the background: this fails with it."""


class PageRun:
    """One pass through a page. `ran` are the lines of the blocks that did."""

    def __init__(self, blocks: list[Block], needs: str, directory: Path) -> None:
        self._blocks = [each for each in blocks if is_of_pass(each, needs)]
        self._needs = needs
        self._directory = directory
        self._cleanup = ExitStack()
        self._python_session: PythonSession | None = None
        self.ran: list[Block] = []

    def run(self) -> None:
        with self._cleanup:
            place = (ClusterPlace if self._needs == CLUSTER else NodePlace)(self._directory)
            self._place = place
            self._cleanup.callback(place.end)
            self._shell = ShellSession(place.scratch, place.environ)
            self._cleanup.callback(self._shell.end)
            for block in self._blocks:
                self._run_block(block)
                self.ran.append(block)

    def _run_block(self, block: Block) -> None:
        text = self._place.addresses.into(block.text)
        if name := block.notes.get("file"):
            (self._place.scratch / name).write_text(text + "\n")
        if block.language in ("toml", "json", "ini"):
            self._check_data(block, text)
            return
        if name:
            return
        try:
            printed = (
                self._in_shell(block, text) if block.language == "sh" else self._python(block, text)
            )
        except ValueError as error:
            raise block.fault(f"{error}. If it cannot be: <!-- not run: reason -->") from error
        if block.output is not None and (apart := differences(block.output, printed)):
            raise block.fault(f"printed is not what is shown\n{apart}")

    def _in_shell(self, block: Block, text: str) -> str:
        """Raises ValueError for a command that cannot be run in a test."""
        if reason := why_not(block.text):
            raise ValueError(reason)
        printed = ""
        wanted = int(block.notes.get("exit", "0"))
        parts = list(parts_of(text))
        for number, (part, is_special) in enumerate(parts):
            if is_special:
                printed += self._instead_of(part)
            else:
                self._place.ready()
                ran = self._shell.run(part)
                printed += ran.everything
                self._check_code(block, ran, wanted if number == len(parts) - 1 else 0)
        return self._place.addresses.out_of(printed)

    def _instead_of(self, line: str) -> str:
        """What stands in for a command that serves until it is stopped, or that installs."""
        if served := served_by(line):
            return self._place.serve(*served)
        if is_of_pip(line):
            check_installed(line)
            return ""
        if line == "make cluster" and self._needs == CLUSTER:
            return self._place.log_text
        raise ValueError(f"'{line}' cannot run within a test")

    def _python(self, block: Block, text: str) -> str:
        self._place.ready()
        ran = self._program().run(text, block.page, block.line)
        self._check_code(block, ran, 0)
        if self._needs == SPARK:
            self._check_code(block, self._program().run(STREAMS_HAVE_BEGUN, "streams", 1), 0)
        return self._place.addresses.out_of(ran.out)

    def _program(self) -> PythonSession:
        if self._python_session is None:
            self._python_session = PythonSession(self._place.scratch, self._place.environ)
            self._cleanup.callback(self._python_session.end)
            if self._needs == SPARK:
                ran = self._python_session.run(SHELL_OF_SPARK, "a session of Spark", 1)
                assert ran.code == 0, ran.everything
        return self._python_session

    def _check_code(self, block: Block, ran: Ran, wanted: int) -> None:
        printed = self._place.addresses.out_of(ran.everything)
        if ran.code != wanted:
            raise block.fault(f"it ended with code {ran.code}, and printed\n{printed}")
        if "Traceback (most recent call last)" in printed:
            raise block.fault(f"it ended in a traceback\n{printed}")

    def _check_data(self, block: Block, text: str) -> None:
        try:
            if block.language == "json":
                json.loads(text)
            elif block.language == "ini":
                configparser.ConfigParser(strict=False).read_string(text)
            elif tomllib.loads(text).keys() <= PRICE_LIST_KEYS:
                parse_price_list(text, f"{block.page}:{block.line}")
            else:
                check_settings(text)
        except Exception as error:
            raise block.fault(f"{type(error).__name__}: {error}") from error


def is_of_pass(block: Block, needs: str) -> bool:
    """Blocks for a lone node run again before those that need Spark: they may lay its ground."""
    if block.is_excused or block.is_picture:
        return False
    return block.needs == needs or (needs == SPARK and block.needs != CLUSTER)


def check_settings(text: str) -> None:
    """That a node would start with this file. Raises ValueError."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(text)
        file.flush()
        done = subprocess.run(
            [sys.executable, "-m", "duolog", "config", "show", "--config", file.name],
            capture_output=True,
            env={name: value for name, value in os.environ.items() if "DUOLOG_" not in name},
            text=True,
            check=False,
        )
    if done.returncode:
        raise ValueError(done.stderr)


def check_installed(line: str) -> None:
    """That what a page has readers install is what these tests run with. Raises ValueError."""
    words = shlex.split(line)
    if "install" not in words:
        raise ValueError(f"'{line}' changes the environment of the tests")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    for word in words[words.index("install") + 1 :]:
        if word.startswith("-") or word in (".", "constraints.txt"):
            continue
        if own := re.fullmatch(r"\.\[(.+)\]", word):
            if unknown := set(own[1].split(",")) - extras.keys():
                raise ValueError(f"there is no extra {unknown}")
        elif word.startswith("duolog"):
            raise ValueError(f"no index has '{word}': install from the clone, as '.[spark]'")
        else:
            _check_distribution(re.split(r"[\[<>=~!]", word)[0])


def _check_distribution(name: str) -> None:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        raise ValueError(f"{name} is not installed here: name it in the extra `dev`") from None
