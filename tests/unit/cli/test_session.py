"""However the work ends, the exit code and stderr tell."""

import asyncio

import pytest

from duolog.cli.failures import ExitCode, Failure
from duolog.cli.session import reporting, run
from duolog.client.errors import Unreachable


async def ending(error: BaseException) -> None:
    await asyncio.sleep(0)
    raise error


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (Failure("It is so. Do this.", ExitCode.NOT_ALLOWED), 4, "It is so. Do this.\n"),
        (Unreachable(("localhost", 1), "is away"), 5, "The node at localhost:1 is away. Check"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_an_error_becomes_an_exit_code(
    capsys: pytest.CaptureFixture[str], error: BaseException, code: int, said: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        run(ending(error))
    assert ended.value.code == code
    heard = capsys.readouterr()
    assert heard.err.startswith(said)
    assert heard.out == ""


def test_a_bug_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        run(ending(ZeroDivisionError()))


def test_what_the_work_returns_is_returned() -> None:
    async def work() -> int:
        return 7

    assert run(work()) == 7


def test_without_an_error_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with reporting():
        print("data")
    assert capsys.readouterr() == ("data\n", "")
