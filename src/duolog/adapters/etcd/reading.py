"""Linearizable reads, in pages; none is marked serializable."""

from typing import Any

from duolog.adapters.etcd.calls import Calls
from duolog.adapters.etcd.failures import AnswerTooLarge, Refused
from duolog.adapters.etcd.keys import Keys
from duolog.adapters.etcd.messages import Decoder, KeyValue, RangeAnswer
from duolog.ports.metastore import Entry, Snapshot, StoreUnavailable

PAGE_KEYS_MAX = 5_000
"""Limit of keys per answer, lowered if their values are large. For each page, etcd 3.4 counts all
remaining keys, so that small pages are slow."""

_RESTARTS_MAX = 3
"""Limit of restarts of a range whose revision is compacted while it is read."""

_ranges = Decoder(RangeAnswer)


class Reading:
    def __init__(self, calls: Calls, keys: Keys) -> None:
        self._calls = calls
        self._keys = keys

    async def get(self, key: str) -> Entry | None:
        answer = await self._ask({"key": self._keys.full(key)})
        return self._keys.entry(answer.kvs[0]) if answer.kvs else None

    async def range(self, prefix: str) -> Snapshot:
        for _ in range(_RESTARTS_MAX):
            try:
                return await self._range(*self._keys.range(prefix))
            except Refused as refused:
                if not refused.means_compacted:
                    raise
        raise StoreUnavailable("etcd is compacted faster than it can be read")

    async def _range(self, first: bytes, end: bytes) -> Snapshot:
        """All pages, at the revision of the first one."""
        request: dict[str, Any] = {"key": first, "range_end": end, "limit": PAGE_KEYS_MAX}
        stored: list[KeyValue] = []
        while True:
            try:
                page = await self._ask(request)
            except AnswerTooLarge:
                if request["limit"] == 1:
                    raise
                request["limit"] = max(1, request["limit"] // 8)
                continue
            stored += page.kvs
            request.setdefault("revision", page.header.revision)
            if not page.more or not page.kvs:
                return Snapshot(request["revision"], tuple(map(self._keys.entry, stored)))
            request["key"] = page.kvs[-1].key + b"\0"

    async def _ask(self, request: dict[str, Any]) -> RangeAnswer:
        return await self._calls.call("/v3/kv/range", request, _ranges, repeatable=True)
