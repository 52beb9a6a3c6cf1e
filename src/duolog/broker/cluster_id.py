"""The cluster's id, chosen by the first node that starts, and never changed."""

import base64
import uuid
from collections.abc import Callable

from duolog.ports.metastore import Compare, MetaStore, Put

_KEY = "cluster/id"


async def establish_cluster_id(store: MetaStore, new_id: Callable[[], uuid.UUID]) -> str:
    """Reads the id, or creates it: 22 url-safe characters, as in Kafka."""
    proposal = base64.urlsafe_b64encode(new_id().bytes).rstrip(b"=")
    if (await store.transact([Compare(_KEY, 0)], [Put(_KEY, proposal)])).committed:
        return proposal.decode()
    entry = await store.get(_KEY)
    assert entry is not None, "a cluster id is never deleted"
    return entry.value.decode()
