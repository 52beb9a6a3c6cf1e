"""Client of the SQS API in its JSON protocol; requests and results are wire/sqs shapes."""

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from duolog.client.errors import Endpoint, Garbled, Refused
from duolog.client.http import ANSWER_SECONDS_MAX, HttpAnswer, HttpClient
from duolog.wire.sqs.apis import ACTIONS
from duolog.wire.sqs.errors import FAULTS
from duolog.wire.sqs.messages import (
    GetQueueAttributesRequest,
    GetQueueUrlRequest,
    Shape,
)
from duolog.wire.sqs.sigv4 import sign

_ACTIONS_BY_REQUEST = {action.request: action for action in ACTIONS.values()}
_NAMES_BY_CODE = {fault.code: name for name, fault in FAULTS.items()}
_PATH = "/"


class Credentials(NamedTuple):
    access_key: str
    secret_key: str
    region: str


class _Error(msgspec.Struct):
    type: str = msgspec.field(name="__type")
    message: str = ""


class QueueClient(HttpClient):
    def __init__(
        self, endpoint: Endpoint, credentials: Credentials | None, now_ms: Callable[[], int]
    ) -> None:
        """Signs requests with `credentials`, or not if None; `now_ms` dates the signatures."""
        super().__init__(endpoint)
        self._credentials = credentials
        self._now_ms = now_ms

    async def call(
        self, request: Shape, subject: str, *, seconds_max: float = ANSWER_SECONDS_MAX
    ) -> Any:
        """Returns the action's result, None if it has none. `subject` begins error texts."""
        action = _ACTIONS_BY_REQUEST[type(request)]
        body = msgspec.json.encode(request)
        headers = {
            b"host": self.host.encode(),
            b"content-type": b"application/x-amz-json-1.0",
            b"x-amz-target": b"AmazonSQS." + action.name.encode(),
        }
        if self._credentials is not None:
            headers = sign(
                "POST",
                _PATH,
                "",
                headers,
                body,
                access_key=self._credentials.access_key,
                secret_key=self._credentials.secret_key,
                region=self._credentials.region,
                now_ms=self._now_ms(),
            )
        texts = {name.decode(): value.decode() for name, value in headers.items()}
        answer = await self.request("POST", _PATH, texts, body, seconds_max=seconds_max)
        if answer.status != 200:
            raise self._refusal(answer, subject)
        return None if action.result is None else self._decode(answer.body, action.result)

    async def url_of(self, name: str) -> str:
        result = await self.call(GetQueueUrlRequest(name), f"queue '{name}'")
        return str(result.queue_url)

    async def arn_of(self, name: str) -> str:
        request = GetQueueAttributesRequest(await self.url_of(name), ["QueueArn"])
        result = await self.call(request, f"queue '{name}'")
        return str((result.attributes or {})["QueueArn"])

    def _refusal(self, answer: HttpAnswer, subject: str) -> Refused:
        error = self._decode(answer.body, _Error)
        code = error.type.rpartition("#")[2]
        return Refused(_NAMES_BY_CODE.get(code, code), subject, error.message)

    def _decode(self, body: bytes, shape: Any) -> Any:
        try:
            return msgspec.json.decode(body, type=shape)
        except msgspec.MsgspecError:
            raise Garbled(f"the address {self.host} does not answer like SQS") from None
