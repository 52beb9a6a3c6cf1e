"""Nothing is destroyed by accident."""

import io
import signal

import pytest

from duolog.cli.consent import has_consent
from duolog.cli.failures import ExitCode, Failure


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def ask(*, yes: bool = False, dry_run: bool = False) -> bool:
    return has_consent("orders", "All is lost.", yes=yes, dry_run=dry_run)


def test_the_loss_is_told_in_any_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(yes=True)
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "All is lost.\n")


def test_a_dry_run_does_nothing_even_with_yes(capsys: pytest.CaptureFixture[str]) -> None:
    assert not ask(yes=True, dry_run=True)
    assert "Nothing was done" in capsys.readouterr().err


def test_where_nobody_can_be_asked_it_is_not_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("orders\n"))
    with pytest.raises(Failure, match="--yes") as failure:
        ask()
    assert failure.value.code is ExitCode.NOT_ALLOWED


def test_the_name_has_to_be_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("orders\n"))
    assert ask()


@pytest.mark.parametrize("typed", ["", "yes\n", "order\n", "Orders\n"])
def test_another_answer_does_nothing(monkeypatch: pytest.MonkeyPatch, typed: str) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    with pytest.raises(Failure, match="nothing was done") as failure:
        ask()
    assert failure.value.code is ExitCode.NOT_ALLOWED


def test_the_question_is_asked_when_it_can_be_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    handlers = []

    class Screen(io.StringIO):
        def write(self, text: str) -> int:
            if "to go on" in text:
                handlers.append(signal.getsignal(signal.SIGINT))
            return super().write(text)

    monkeypatch.setattr("sys.stderr", Screen())
    monkeypatch.setattr("sys.stdin", Terminal("orders\n"))
    noted = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        assert ask()
    finally:
        signal.signal(signal.SIGINT, noted)
    assert handlers == [signal.default_int_handler]
