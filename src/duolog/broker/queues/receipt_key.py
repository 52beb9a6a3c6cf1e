"""The secret with which this cluster seals its receipts."""

from collections.abc import Callable

from duolog.ports.metastore import Compare, MetaStore, Put

KEY = "cluster/receipt-key"
KEY_BYTES = 32


async def establish_receipt_key(store: MetaStore, new_secret: Callable[[int], bytes]) -> bytes:
    """The stored one; made by whoever is first."""
    await store.transact([Compare(KEY, 0)], [Put(KEY, new_secret(KEY_BYTES))])
    entry = await store.get(KEY)
    assert entry is not None
    return entry.value
