"""MetaStore on etcd.

A transaction that was sent and not answered is never sent again, since it may have been committed:
StoreUnavailable says so, and the caller reads what happened.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from duolog.adapters.etcd.address import Endpoint
from duolog.adapters.etcd.calls import Calls
from duolog.adapters.etcd.endpoints import PROBE_INTERVAL_S, PROBE_TIMEOUT_S, Endpoints
from duolog.adapters.etcd.failures import AnswerTooLarge, Refused
from duolog.adapters.etcd.gateway import Gateway
from duolog.adapters.etcd.keys import Keys
from duolog.adapters.etcd.messages import Decoder, LeaseAnswer, RangeAnswer, TransactionAnswer
from duolog.adapters.etcd.reading import Reading
from duolog.adapters.etcd.security import Credentials, TlsFiles, client_context
from duolog.adapters.etcd.session import Session
from duolog.adapters.etcd.watching import Watching
from duolog.ports.metastore import (
    OPERATIONS_MAX,
    ChangeSet,
    Compare,
    Delete,
    Entry,
    LeaseExpired,
    LeaseId,
    Put,
    Snapshot,
    StoreUnavailable,
    TransactionResult,
)

REQUEST_TIMEOUT_S = 2.0

_transactions = Decoder(TransactionAnswer)
_leases = Decoder(LeaseAnswer)
_renewals = Decoder(LeaseAnswer, streamed=True)
_probes = Decoder(RangeAnswer)


class EtcdStore:
    """Implements ports.metastore.MetaStore. Made by `open`."""

    def __init__(
        self, endpoints: Endpoints, session: Session, keys: Keys, timeout_s: float
    ) -> None:
        self._endpoints = endpoints
        self._keys = keys
        self._calls = Calls(session, endpoints, timeout_s)
        self._reading = Reading(self._calls, keys)
        self._watching = Watching(session, endpoints, keys, timeout_s)

    @classmethod
    async def open(
        cls,
        endpoints: Sequence[Endpoint],
        prefix: str,
        *,
        tls: TlsFiles | ssl.SSLContext | None = None,
        credentials: Credentials | None = None,
        request_timeout_s: float = REQUEST_TIMEOUT_S,
        probe_interval_s: float = PROBE_INTERVAL_S,
        probe_timeout_s: float = PROBE_TIMEOUT_S,
    ) -> "EtcdStore":
        """Connects to the etcd of these members; all keys are put under the prefix.

        Without `tls`, connections are plain. Raises StoreUnavailable if etcd does not answer.
        """
        if isinstance(tls, TlsFiles):
            tls = await asyncio.to_thread(client_context, tls)
        session = Session(credentials)
        keys = Keys(prefix)

        async def probe(gateway: Gateway, deadline: float) -> None:
            request = {"key": keys.full(""), "count_only": True}
            try:
                await session.ask(gateway, "/v3/kv/range", request, _probes, deadline)
            except Refused as refused:
                # A lasting refusal still proves that the member knows the present state.
                if refused.is_passing:
                    raise

        gateways = [Gateway(endpoint, tls) for endpoint in endpoints]
        chosen = Endpoints(gateways, probe, interval_s=probe_interval_s, timeout_s=probe_timeout_s)
        store = cls(chosen, session, keys, request_timeout_s)
        try:
            await store.get("")
        except BaseException:
            await store.close()
            raise
        return store

    async def get(self, key: str) -> Entry | None:
        with _refusals():
            return await self._reading.get(key)

    async def range(self, prefix: str) -> Snapshot:
        with _refusals():
            return await self._reading.range(prefix)

    async def transact(
        self, compares: Sequence[Compare], operations: Sequence[Put | Delete]
    ) -> TransactionResult:
        keys = {operation.key for operation in operations}
        assert len(keys) == len(operations), "one transaction names a key twice"
        assert max(len(compares), len(operations)) <= OPERATIONS_MAX, "the transaction is too long"
        request = {
            "compare": [self._compare(compare) for compare in compares],
            "success": [self._operation(operation) for operation in operations],
        }
        with _refusals():
            answer = await self._calls.call("/v3/kv/txn", request, _transactions, repeatable=False)
        return TransactionResult(answer.succeeded, answer.header.revision)

    async def grant_lease(self, ttl_ms: int) -> LeaseId:
        """Grants a lease, in whole seconds as etcd counts: it can last up to one second longer."""
        request = {"TTL": -(-ttl_ms // 1000)}
        with _refusals():
            # A lease whose grant was lost expires by itself: granting another one is harmless.
            answer = await self._calls.call("/v3/lease/grant", request, _leases, repeatable=True)
        return LeaseId(answer.ID)

    async def renew_lease(self, lease: LeaseId) -> None:
        with _refusals():
            answer = await self._calls.call(
                "/v3/lease/keepalive", {"ID": lease}, _renewals, repeatable=True
            )
        if answer.TTL <= 0:
            raise LeaseExpired(f"lease {lease} is gone")

    async def revoke_lease(self, lease: LeaseId) -> None:
        try:
            with _refusals():
                await self._calls.call("/v3/lease/revoke", {"ID": lease}, _leases, repeatable=True)
        except LeaseExpired:
            pass

    def watch(self, prefix: str, from_revision: int) -> AsyncIterator[ChangeSet]:
        return self._watching.watch(prefix, from_revision)

    async def close(self) -> None:
        await self._endpoints.close()

    def _compare(self, compare: Compare) -> dict[str, Any]:
        return {
            "key": self._keys.full(compare.key),
            "target": "MOD",
            "mod_revision": compare.mod_revision,
        }

    def _operation(self, operation: Put | Delete) -> dict[str, Any]:
        key = self._keys.full(operation.key)
        if isinstance(operation, Delete):
            return {"request_delete_range": {"key": key}}
        put: dict[str, Any] = {"key": key, "value": operation.value}
        if operation.lease is not None:
            put["lease"] = operation.lease
        return {"request_put": put}


@contextmanager
def _refusals() -> Iterator[None]:
    """Translates etcd's refusals into the port's."""
    try:
        yield
    except Refused as refused:
        if refused.means_lease_is_gone:
            raise LeaseExpired(refused.message) from None
        raise StoreUnavailable(f"etcd refuses: {refused.message}{refused.advice}") from None
    except AnswerTooLarge as problem:
        raise StoreUnavailable(f"etcd holds a value that is too large: {problem}") from None
