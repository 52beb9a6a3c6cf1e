"""Consent to destructive commands, asked of somebody who has seen what would be lost."""

import signal
import sys
from typing import Annotated

import typer

from duolog.cli.failures import ExitCode, Failure

YesOption = Annotated[bool, typer.Option("--yes", help="Do it without asking.")]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Only tell what would be done and lost.")
]


def has_consent(name: str, loss: str, *, yes: bool, dry_run: bool) -> bool:
    """Tell what would be lost, and ask for the name again. False: only tell.

    Failure when the answer is another one, or when there is nobody to ask.
    """
    print(loss, file=sys.stderr)
    if dry_run:
        print("Nothing was done: this is a dry run.", file=sys.stderr)
        return False
    if yes:
        return True
    if not sys.stdin.isatty():
        raise Failure(
            "Nobody can be asked here, so nothing was done. Run it with --yes if it is meant.",
            ExitCode.NOT_ALLOWED,
        )
    if _ask(f"Type '{name}' to go on: ") != name:
        raise Failure(
            "That is another name, so nothing was done. Run it again if it is meant.",
            ExitCode.NOT_ALLOWED,
        )
    return True


def _ask(question: str) -> str:
    # Under asyncio an interrupt is only noted, and would be noticed after the answer. So this
    # comes before the question, to which an interrupt may be the answer.
    noted = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        print(question, end="", file=sys.stderr, flush=True)
        return sys.stdin.readline().strip()
    finally:
        signal.signal(signal.SIGINT, noted)
