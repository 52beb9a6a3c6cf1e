from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.unit.cli.door_server import DoorServer
from typer.testing import CliRunner

from duolog.cli.main import app

Run = Callable[..., Any]


@pytest.fixture
def doors(monkeypatch: pytest.MonkeyPatch) -> Iterator[DoorServer]:
    for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.delenv(variable, raising=False)
    server = DoorServer()
    monkeypatch.setenv("DUOLOG_SQS_LISTEN", server.address)
    monkeypatch.setenv("DUOLOG_ADMIN_LISTEN", server.address)
    yield server
    server.stop()


@pytest.fixture
def queue(doors: DoorServer) -> Run:
    """`duolog queue …` against those doors."""

    def run(*arguments: str, lines: str | bytes | None = None) -> Any:
        return CliRunner().invoke(app, ["queue", *arguments], input=lines)

    return run
