"""InitProducerId: an id for an idempotent producer, or the next epoch of the one it has."""

from typing import Any

from duolog.broker.broker import Broker
from duolog.kafka_api.client import Client
from duolog.kafka_api.errors import code_of
from duolog.model.errors import InvalidRequest, Refusal, TransactionsUnsupported

_NONE = -1
_EPOCH_MAX = (1 << 15) - 1


async def handle(broker: Broker, request: Any, client: Client) -> dict[str, Any]:
    try:
        producer_id, epoch = await _initialise(broker, request)
    except Refusal as refusal:
        return {"error_code": code_of(refusal), "producer_id": _NONE, "producer_epoch": _NONE}
    return {"error_code": 0, "producer_id": producer_id, "producer_epoch": epoch}


async def _initialise(broker: Broker, request: Any) -> tuple[int, int]:
    if request.transactional_id is not None:
        raise TransactionsUnsupported("transactions are not supported")
    producer_id: int = getattr(request, "producer_id", _NONE)
    epoch: int = getattr(request, "producer_epoch", _NONE)
    if (producer_id == _NONE) != (epoch == _NONE):
        raise InvalidRequest("a producer's id and epoch are given together or not at all")
    # A producer asks again after an error that broke its sequence. The last epoch is never
    # given out: it is how Kafka marks a producer that is fenced for good.
    if producer_id != _NONE and epoch + 1 < _EPOCH_MAX:
        return producer_id, epoch + 1
    return await broker.producer_ids.next_id(), 0
