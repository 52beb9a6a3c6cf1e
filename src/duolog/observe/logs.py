"""Structured logs: one line per event, text on a terminal and JSON elsewhere.

An event is named in lower case and carries facts, never message bodies or secrets:
`log.info("segment rolled", topic=…, base_offset=…)`.
"""

import logging
import os
import sys
from typing import Any, Literal, TextIO, cast

import msgspec
import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor

Format = Literal["text", "json"]

_encoder = msgspec.json.Encoder(enc_hook=str)


def get_logger(name: str) -> FilteringBoundLogger:
    """A logger that adds its module to each event. Follows `configure_logs`, even later."""
    return cast(FilteringBoundLogger, structlog.get_logger(module=name))


def resolve_format(wanted: str, stream: TextIO) -> Format:
    """The format that `auto` means for this stream."""
    if wanted == "auto":
        return "text" if stream.isatty() else "json"
    assert wanted in ("text", "json")
    return cast(Format, wanted)


_utc_now = structlog.processors.TimeStamper(fmt="iso", utc=True)


def configure_logs(
    level: str, wanted: str, stream: TextIO = sys.stderr, *, stamp: Processor = _utc_now
) -> None:
    """Sends events of at least this level to the stream; `wanted` is auto, text or json.

    `stamp` gives an event its "timestamp".
    """
    number = logging.getLevelNamesMapping()[level.upper()]
    shared: list[Processor] = [
        structlog.stdlib.add_log_level,
        stamp,
        structlog.processors.StackInfoRenderer(),
    ]
    rendering = _rendering(resolve_format(wanted, stream), stream)
    structlog.configure(
        processors=[*shared, *rendering],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.WriteLoggerFactory(stream),
        cache_logger_on_first_use=True,
    )
    _adopt_standard_logging(number, shared, rendering, stream)


def _rendering(form: Format, stream: TextIO) -> list[Processor]:
    if form == "json":
        # The traceback becomes a field, so that an event stays one line.
        return [
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(serializer=_to_json),
        ]
    # Plain tracebacks: the pretty ones print local variables, among them message bodies.
    return [
        structlog.dev.ConsoleRenderer(
            colors=_wants_colour(stream), exception_formatter=structlog.dev.plain_traceback
        )
    ]


def _wants_colour(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR")


def _to_json(event: Any, **_: Any) -> str:
    return _encoder.encode(event).decode()


def _name_module(logger: Any, method: str, event: EventDict) -> EventDict:
    event["module"] = event["_record"].name
    return event


def _adopt_standard_logging(
    level: int, shared: list[Processor], rendering: list[Processor], stream: TextIO
) -> None:
    """Gives log records of asyncio and of libraries the same shape."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[_name_module, *shared],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendering],
        )
    )
    logging.basicConfig(handlers=[handler], level=level, force=True)
