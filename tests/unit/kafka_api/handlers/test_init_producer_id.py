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


async def test_a_producer_that_asks_again_gets_its_next_epoch(broker):
    assert await init(broker, producer_id=7, epoch=4) == (ErrorCode.none, 7, 5)


async def test_a_producer_whose_epochs_are_used_up_gets_a_new_id(broker):
    assert await init(broker, producer_id=7, epoch=32765) == (ErrorCode.none, 7, 32766)
    assert await init(broker, producer_id=7, epoch=32766) == (ErrorCode.none, 0, 0)


async def test_transactions_are_refused(broker):
    error, producer_id, epoch = await init(broker, transactional_id="payments")
    assert error != ErrorCode.none
    assert (producer_id, epoch) == (-1, -1)


@pytest.mark.parametrize(("producer_id", "epoch"), [(7, -1), (-1, 4)])
async def test_half_an_identity_is_refused(broker, producer_id, epoch):
    error, *_ = await init(broker, producer_id=producer_id, epoch=epoch)
    assert error == ErrorCode.invalid_request
