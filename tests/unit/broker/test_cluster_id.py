import uuid

from duolog.adapters.sqlite import SqliteStore
from duolog.broker.cluster_id import establish_cluster_id


class ManualClock:
    def now_ms(self) -> int:
        return 0

    def monotonic_ms(self) -> int:
        return 0


async def test_the_first_to_ask_chooses_and_everybody_else_is_told():
    store = await SqliteStore.open(":memory:", ManualClock())
    first = await establish_cluster_id(store, lambda: uuid.UUID(int=1))
    assert first == "AAAAAAAAAAAAAAAAAAAAAQ"
    assert await establish_cluster_id(store, lambda: uuid.UUID(int=2)) == first
    await store.close()
