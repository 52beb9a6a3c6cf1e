"""Errors that end a query. Each text is one sentence that names the place.

Spark puts the id of a streaming query before errors of its driver; errors of a task name it
themselves (see source/stream_reader.py).
"""


class ConnectorError(Exception):
    """The query was not carried out, or only in part."""


class InvalidOption(ConnectorError):
    """An option, or a column of a schema, that is unknown or has an invalid value."""


class InvalidOffsets(ConnectorError):
    """Offsets, from a checkpoint or an option, that cannot belong to this query."""


class DataLost(ConnectorError):
    """Records to be read no longer exist, and the query may not skip them."""


class BrokerAway(ConnectorError):
    """No broker answered within brokerTimeoutMs."""


class Damaged(ConnectorError):
    """Data from a broker, or in a staged file, is not what was written."""


def place(topic: str, partition: int, offset: int | None = None) -> str:
    at = "" if offset is None else f" at offset {offset}"
    return f"partition {partition} of topic '{topic}'{at}"
