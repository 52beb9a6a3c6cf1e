"""InitProducerId: a new id for an idempotent producer.

A producer that asks again gets another id, as in Kafka: only with transactions does the broker know
enough of it to let it keep its id with the next epoch.
"""

from typing import Any

from duolog.broker.broker import Broker
from duolog.kafka_api.client import Client
from duolog.kafka_api.errors import code_of
from duolog.model.errors import InvalidRequest, Refusal, TransactionsUnsupported

_NONE = -1
_FIRST_EPOCH = 0


async def handle(broker: Broker, request: Any, client: Client) -> dict[str, Any]:
    try:
        _check(request.transactional_id)
        producer_id = await broker.producer_ids.next_id()
    except Refusal as refusal:
        return {"error_code": code_of(refusal), "producer_id": _NONE, "producer_epoch": _NONE}
    return {"error_code": 0, "producer_id": producer_id, "producer_epoch": _FIRST_EPOCH}


def _check(transactional_id: str | None) -> None:
    if transactional_id == "":
        raise InvalidRequest("a transactional id cannot be empty")
    if transactional_id is not None:
        raise TransactionsUnsupported("transactions are not supported")
