"""One line an event, whoever logs it."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from duolog.observe.logs import configure_logs, get_logger, resolve_format


@pytest.fixture(autouse=True)
def _restore() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def json_lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_auto_is_text_on_a_terminal_and_json_elsewhere() -> None:
    assert resolve_format("auto", Terminal()) == "text"
    assert resolve_format("auto", io.StringIO()) == "json"
    assert resolve_format("text", io.StringIO()) == "text"


def test_an_event_is_one_line_of_json() -> None:
    stream = io.StringIO()
    log = get_logger("log.segment")
    configure_logs("info", "json", stream)
    log.debug("not seen")
    log.info("segment rolled", topic="orders", base_offset=7)
    (event,) = json_lines(stream)
    assert event.pop("timestamp").endswith("Z")
    assert event == {
        "event": "segment rolled",
        "level": "info",
        "module": "log.segment",
        "topic": "orders",
        "base_offset": 7,
    }


def test_an_exception_stays_within_its_line() -> None:
    stream = io.StringIO()
    configure_logs("info", "json", stream)
    try:
        raise RuntimeError("broken")
    except RuntimeError:
        get_logger("test").exception("it failed")
    (event,) = json_lines(stream)
    assert "RuntimeError: broken" in event["exception"]


def test_what_libraries_log_has_the_same_shape() -> None:
    stream = io.StringIO()
    configure_logs("warning", "json", stream)
    logging.getLogger("asyncio").info("not seen")
    logging.getLogger("asyncio").warning("slow %s", "callback")
    (event,) = json_lines(stream)
    assert (event["event"], event["module"], event["level"]) == (
        "slow callback",
        "asyncio",
        "warning",
    )


def test_text_has_no_colour_where_none_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    configure_logs("info", "auto", stream)
    get_logger("test").info("node started", node=1)
    assert "node started" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


def test_a_traceback_does_not_show_local_variables() -> None:
    stream = io.StringIO()
    configure_logs("info", "text", stream)
    body = "a message " + "body"
    try:
        raise RuntimeError(len(body))
    except RuntimeError:
        get_logger("test").exception("it failed")
    assert "RuntimeError" in stream.getvalue()
    assert "a message body" not in stream.getvalue()
