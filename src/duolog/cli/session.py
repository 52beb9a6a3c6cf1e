"""Runs a command's work against a node, and reports how it ended."""

import asyncio
import io
import os
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from duolog.cli.explanations import explain
from duolog.cli.failures import ExitCode, Failure, fail
from duolog.cli.known_names import NOTHING_KNOWN, Known, meant_by
from duolog.client.errors import ClientError, Refused

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T], known: Known = NOTHING_KNOWN) -> T:
    with reporting(known):
        return asyncio.run(work)


@contextmanager
def reporting(known: Known = NOTHING_KNOWN) -> Iterator[None]:
    """Turn every error that ends the work into a message on stderr and an exit code.

    `known` gives existing names, for a suggestion where one was mistyped.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that cannot show a character is no reason to stop halfway.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        yield
        sys.stdout.flush()
    except Failure as failure:
        fail(str(failure), failure.code)
    except ClientError as error:
        meant = meant_by(error, known) if isinstance(error, Refused) else None
        explained = explain(error, meant)
        fail(str(explained), explained.code)
    except KeyboardInterrupt:
        raise SystemExit(int(ExitCode.INTERRUPTED)) from None
    except BrokenPipeError:
        # The reader has seen enough, as `head` does. Text still buffered must not be written at
        # exit, which would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(int(ExitCode.DONE)) from None
