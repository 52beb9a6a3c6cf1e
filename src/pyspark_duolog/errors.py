"""What a query is told when it cannot go on. Each text is one sentence that names the place.

Spark puts the id of a streaming query before what its driver raised; what a task raises names
it itself (see source/stream_reader.py).
"""


class ConnectorError(Exception):
    """The query was not done, or not all of it."""


class InvalidOption(ConnectorError):
    """An option, or a column of a schema, that the connector does not know or cannot take."""


class InvalidOffsets(ConnectorError):
    """A checkpoint, or offsets that a user gave, that cannot be those of this query."""


class DataLost(ConnectorError):
    """Records that were to be read are no longer there, and the query may not go on without."""


class BrokerAway(ConnectorError):
    """No broker answered for as long as the query may wait."""


class Damaged(ConnectorError):
    """What a broker sent, or a staged file has, is not what was written."""


def place(topic: str, partition: int, offset: int | None = None) -> str:
    at = "" if offset is None else f" at offset {offset}"
    return f"partition {partition} of topic '{topic}'{at}"
