"""Failure of a command: its message and its exit code."""

import sys
from enum import IntEnum
from typing import NoReturn


class ExitCode(IntEnum):
    DONE = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    NOT_ALLOWED = 4
    UNREACHABLE = 5
    UNHEALTHY = 10
    INTERRUPTED = 130
    """128 plus the number of SIGINT, as in shells."""


class Failure(Exception):
    """One sentence that says what happened, and one that says what to do."""

    def __init__(self, message: str, code: ExitCode) -> None:
        super().__init__(message)
        self.code = code


def fail(message: str, code: ExitCode) -> NoReturn:
    """End the command with one sentence that says what happened, and one that says what to do."""
    print(message, file=sys.stderr)
    raise SystemExit(int(code))
