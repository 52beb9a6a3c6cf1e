"""The cluster, as operators look at it.

GET  /cluster                     its nodes, and how many partitions are not as they should be;
                                  out of date while this node is not "in_touch" with the store
GET  /cluster/events              what the controller has decided, newest first: ?limit=
POST /cluster/nodes/<id>/drain    {"draining": true}: leaders and copies move away
"""

from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any
from urllib.parse import parse_qs

import msgspec

from duolog.admin_api.answers import READING, error_answer, json_answer, wrong_method
from duolog.broker.catalog import Catalog
from duolog.broker.controller.event_log import read_events
from duolog.broker.controller.requests import Requests
from duolog.broker.membership.cluster_view import ClusterView
from duolog.model.errors import Refusal, RequestTimedOut
from duolog.model.partition_state import NO_LEADER
from duolog.ports.http import Request, Response
from duolog.ports.metastore import MetaStore, StoreUnavailable

PREFIX = "/cluster"
EVENTS_DEFAULT = 50
EVENTS_MAX = 10_000

Answer = Response | Coroutine[Any, Any, Response]


class _Drain(msgspec.Struct, forbid_unknown_fields=True):
    draining: bool


class ClusterPages:
    def __init__(
        self,
        cluster_id: str,
        view: ClusterView,
        catalog: Catalog,
        store: MetaStore,
        requests: Requests,
        is_in_touch: Callable[[], bool],
    ) -> None:
        self._requests = requests
        self._cluster_id = cluster_id
        self._view = view
        self._catalog = catalog
        self._store = store
        self._is_in_touch = is_in_touch

    def answer(self, request: Request) -> Answer:
        """Serve a request whose path begins with /cluster."""
        match request.method, request.path.split("/")[2:]:
            case (("GET" | "HEAD"), []):
                return json_answer(200, self._described())
            case (("GET" | "HEAD"), ["events"]):
                return self._events(request.query)
            case "POST", ["nodes", node, "drain"] if node.isdecimal():
                return self._drain(int(node), request.body)
            case _, ([] | ["events"]):
                return wrong_method(READING)
            case _, ["nodes", _, "drain"]:
                return wrong_method("POST")
        return error_answer(404, "there is no such page")

    def _described(self) -> dict[str, Any]:
        leads: Counter[int] = Counter()
        copies: Counter[int] = Counter()
        total = leaderless = under_replicated = 0
        for topic in self._catalog.topics.values():
            for index in range(topic.partitions):
                state = self._catalog.partition_state(topic, index)
                total += 1
                leaderless += state.leader == NO_LEADER
                wanted = len(state.replicas) - len(state.asynchronous)
                under_replicated += len(state.in_sync) < wanted
                leads[state.leader] += 1
                copies.update(state.replicas)
        known = sorted(self._view.live.keys() | self._view.records.keys())
        return {
            "cluster_id": self._cluster_id,
            "in_touch": self._is_in_touch(),
            "controller": self._view.controller,
            "controller_epoch": self._view.controller_epoch,
            "nodes": [
                {**self._node(node), "leads": leads[node], "copies": copies[node]} for node in known
            ],
            "partitions": {
                "total": total,
                "leaderless": leaderless,
                "under_replicated": under_replicated,
            },
        }

    def _node(self, node: int) -> dict[str, Any]:
        live, record = self._view.live.get(node), self._view.records.get(node)
        described: dict[str, Any] = {
            "id": node,
            "alive": live is not None,
            "controller": node == self._view.controller,
            "draining": record is not None and record.draining,
        }
        registration = None if live is None else live.registration
        for name in ("rack", "host", "kafka", "sqs", "admin", "peer"):
            described[name] = "" if registration is None else getattr(registration, name)
        said = self._view.statements.get(node) if live is not None else None
        described["cannot_reach"] = [] if said is None else list(said.unreachable)
        described["roles"] = [] if registration is None else list(registration.roles)
        return described

    async def _events(self, query: str) -> Response:
        asked = parse_qs(query).get("limit", [str(EVENTS_DEFAULT)])[-1]
        if not asked.isdecimal() or not 0 < int(asked) <= EVENTS_MAX:
            return error_answer(400, f"limit must be a number from 1 to {EVENTS_MAX}")
        try:
            events = await read_events(self._store)
        except StoreUnavailable as error:
            return error_answer(503, f"the metadata store does not answer: {error}")
        newest = reversed(events[-int(asked) :])
        return json_answer(200, {"events": [msgspec.to_builtins(event) for event in newest]})

    async def _drain(self, node: int, body: bytes) -> Response:
        try:
            wanted = msgspec.json.decode(body, type=_Drain)
        except msgspec.MsgspecError as error:
            return error_answer(400, f"the body is invalid: {error}")
        if node not in self._view.live and node not in self._view.records:
            return error_answer(404, f"there is no node {node}", code="NodeDoesNotExist")
        try:
            await self._requests.set_draining(node, wanted.draining)
        except RequestTimedOut as error:
            return error_answer(503, f"the outcome is not known: {error}")
        except Refusal as refusal:
            return error_answer(400, str(refusal))
        return json_answer(200, {"node": node, "draining": wanted.draining})
