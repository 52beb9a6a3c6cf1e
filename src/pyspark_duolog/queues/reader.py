"""Reads the current messages of a queue, without receiving them; one task per partition."""

from base64 import b64decode
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from duolog.client.errors import Endpoint
from duolog.client.operator import OperatorClient, Page, PeekedMessage
from pyspark_duolog.arrow_rows import arrow_schema
from pyspark_duolog.asking import first_answer
from pyspark_duolog.columns import QUEUE_COLUMNS, check_schema
from pyspark_duolog.queues.options import QueueOptions

PAGE_MESSAGES_MAX = 1_000

_BINARY = "Binary"

T = TypeVar("T")


class QueuePartition(InputPartition):
    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.index = index


class DuologQueueReader(DataSourceReader):
    def __init__(self, options: QueueOptions, schema: StructType) -> None:
        check_schema(schema, QUEUE_COLUMNS)
        self._options = options
        self._schema = schema

    def partitions(self) -> list[InputPartition]:
        described = _asked(self._options, lambda client: client.queue(self._options.queue))
        return [QueuePartition(index) for index in range(described.partitions)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, QueuePartition):
            return
        schema = arrow_schema(self._schema)
        next_offset: int | None = 0
        while next_offset is not None:
            page = self._page(partition.index, next_offset)
            rows = [_row(self._options.queue, each) for each in page.messages]
            if rows:
                columns = [pa.array([row[each.name] for row in rows], each.type) for each in schema]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)
            next_offset = page.next

    def _page(self, partition: int, from_offset: int) -> Page:
        def ask(client: OperatorClient) -> Awaitable[Page]:
            return client.messages(
                self._options.queue,
                partition=partition,
                from_offset=from_offset,
                limit=PAGE_MESSAGES_MAX,
                state=self._options.state,
            )

        return _asked(self._options, ask)


def _row(queue: str, message: PeekedMessage) -> dict[str, Any]:
    headers = [
        {"key": name, "value": _attribute(each)} for name, each in message.attributes.items()
    ]
    return {
        "key": None if message.group_id is None else message.group_id.encode(),
        "value": message.body.encode(),
        "queue": queue,
        "partition": message.partition,
        "offset": message.offset,
        "timestamp": message.sent_ms * 1000,
        "headers": headers or None,
        "message_id": message.id,
        "receive_count": message.receive_count,
        "state": message.state,
    }


def _attribute(attribute: dict[str, str]) -> bytes:
    value = attribute["value"]
    return b64decode(value) if attribute["type"].startswith(_BINARY) else value.encode()


def _asked(options: QueueOptions, question: Callable[[OperatorClient], Awaitable[T]]) -> T:
    async def ask_one(address: Endpoint) -> T:
        async with OperatorClient((address[0], address[1])) as client:
            return await question(client)

    return first_answer(options.admin_addresses, options.broker_timeout_ms, ask_one)
