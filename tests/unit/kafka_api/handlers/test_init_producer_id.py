import pytest
from kio.schema.errors import ErrorCode

from duolog.wire.kafka.apis import ApiKey


async def init(broker, *, transactional_id=None, producer_id=-1, epoch=-1, version=None):
    response = await broker.call(
        ApiKey.INIT_PRODUCER_ID,
        version,
        transactional_id=transactional_id,
        transaction_timeout=1000,
        producer_id=producer_id,
        producer_epoch=epoch,
    )
    return response.error_code, response.producer_id, response.producer_epoch


@pytest.mark.parametrize("version", range(6))
async def test_each_producer_gets_an_id_of_its_own(broker, version):
    assert await init(broker, version=version) == (ErrorCode.none, 0, 0)
    assert await init(broker, version=version) == (ErrorCode.none, 1, 0)


@pytest.mark.parametrize(("producer_id", "epoch"), [(7, 4), (7, 32767), (7, -1), (-1, 4)])
async def test_a_producer_that_asks_again_gets_a_new_id(broker, producer_id, epoch):
    found = await init(broker, producer_id=producer_id, epoch=epoch)
    assert found == (ErrorCode.none, 0, 0)


async def test_transactions_are_refused(broker):
    error, producer_id, epoch = await init(broker, transactional_id="payments")
    assert error != ErrorCode.none
    assert (producer_id, epoch) == (-1, -1)


async def test_an_empty_transactional_id_is_a_mistake(broker):
    assert await init(broker, transactional_id="") == (ErrorCode.invalid_request, -1, -1)
