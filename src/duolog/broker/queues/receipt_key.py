"""The secret key with which this cluster seals its receipt handles."""

from collections.abc import Callable

from duolog.ports.metastore import Compare, MetaStore, Put

KEY = "cluster/receipt-key"
KEY_BYTES = 32


async def establish_receipt_key(store: MetaStore, new_secret: Callable[[int], bytes]) -> bytes:
    """Reads the cluster's key from the store; the first node creates it."""
    await store.transact([Compare(KEY, 0)], [Put(KEY, new_secret(KEY_BYTES))])
    entry = await store.get(KEY)
    assert entry is not None
    return entry.value
