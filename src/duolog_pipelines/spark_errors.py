"""Translation of Spark's errors, which are pages long, into one sentence."""

import re

from pyspark.errors import PySparkException

from duolog_pipelines.errors import PipelineError, Unreachable
from pyspark_duolog.errors import BrokerAway, ConnectorError

_OURS = re.compile(r"(?:duolog_pipelines|pyspark_duolog)\.errors\.(\w+): ([^\n]+)")
"""Matches a Python error of ours in the text that the JVM made of it."""
_RAISED = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t][^\n]*\n)*(\S[^\n]*)")
"""Matches any other Python error: the line behind its traceback."""


def explained(error: PySparkException) -> PipelineError:
    """Error from the last Python error in Spark's text, ours preferred; else from its first
    line."""
    told = str(error).strip()
    found = _OURS.findall(told)
    if not found:
        raised = _RAISED.findall(told)
        return PipelineError(f"Spark failed: {raised[-1] if raised else told.splitlines()[0]}")
    kind, message = found[-1]
    return _told(message, is_away=kind == BrokerAway.__name__)


def connector_explained(error: ConnectorError) -> PipelineError:
    """Error from a connector error that did not pass through Spark."""
    return _told(str(error), is_away=isinstance(error, BrokerAway))


def _told(message: str, *, is_away: bool) -> PipelineError:
    text = f"{message[:1].upper()}{message[1:]}"
    text = text if text.endswith((".", "!", "?")) else f"{text}."
    return (
        Unreachable(f"{text} Check that a node serves there.") if is_away else PipelineError(text)
    )
