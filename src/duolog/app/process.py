"""Process-wide settings of a node: its log, its signals, and how many files it may open."""

import asyncio
import resource
import signal
from contextlib import suppress

from duolog import __version__
from duolog.config.settings import Settings
from duolog.observe.c_modules import NODE_MODULES, missing
from duolog.observe.log_stream import LogStream
from duolog.observe.logs import configure_logs, get_logger

log = get_logger("node")


def log_to(stream: LogStream, settings: Settings) -> None:
    stream.on_recovered = _report_lost_lines
    configure_logs(settings.get("log.level"), settings.get("log.format"), stream)
    _log_start()


def _log_start() -> None:
    """The version, and whether all of it is as fast as it could be."""
    slower = missing(NODE_MODULES)
    if slower:
        log.warning("starting", version=__version__, c_modules_missing=",".join(slower))
    else:
        log.info("starting", version=__version__, c_modules="all built")


def allow_many_files() -> None:
    """Raise the descriptor limit: a node needs one per connection and per segment read."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def descriptors() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def stop_on_signals(stopped: asyncio.Future[int]) -> None:
    def stop() -> None:
        if not stopped.done():
            stopped.set_result(0)

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # Who starts a node with `nohup` wants it to outlive the terminal.
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            loop.add_signal_handler(number, stop)


def _report_lost_lines(lines: int) -> None:
    log.warning("log lines were lost", lines=lines)
