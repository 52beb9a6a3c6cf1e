"""How a command ends that did not do what was asked."""

import sys
from enum import IntEnum
from typing import NoReturn


class ExitCode(IntEnum):
    FAILED = 1
    USAGE = 2


def fail(message: str, code: ExitCode) -> NoReturn:
    """The message is one sentence that says what happened, and one that says what to do."""
    print(message, file=sys.stderr)
    raise SystemExit(int(code))
