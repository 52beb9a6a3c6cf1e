"""The door before an engine in memory, asked as a client asks it, in either protocol."""

import asyncio
import base64
import json
import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode
from xml.etree import ElementTree

import pytest
from tests.fakes.group_shell import SetClock
from tests.fakes.meter import FakeMeter
from tests.fakes.queues import FakeQueues

from duolog.observe.metrics import Metrics
from duolog.ports.http import Deferred, Request, Response
from duolog.sqs_api.door import SqsDoor
from duolog.wire.sqs.apis import ACTIONS
from duolog.wire.sqs.messages import Shape
from duolog.wire.sqs.query_layout import Kind, Layout, members_of

ACCOUNT = "000000000000"
REGION = "us-east-1"
HOST = "queues.localhost:9324"
STEPS_MAX = 5
"""Turns of the event loop after which an engine in memory has answered everything."""
XML = "{http://queue.amazonaws.com/doc/2012-11-05/}"


class Refused(Exception):
    """An error answer: its code as old clients know it, which both protocols tell."""

    def __init__(self, response: Response, code: str, message: str) -> None:
        super().__init__(code, message)
        self.status = response.status
        self.code = code
        self.message = message


def url(name: str) -> str:
    return f"http://{HOST}/{ACCOUNT}/{name}"


def arn(name: str) -> str:
    return f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}"


class Workbench:
    def __init__(self, protocol: str = "json", credentials: Mapping[str, str] = {}) -> None:
        self.protocol = protocol
        self.queues = FakeQueues()
        self.metrics = Metrics()
        self.clock = SetClock()
        self.meter = FakeMeter()
        engine: Any = self.queues
        self.door = SqsDoor(
            engine,
            self.clock,
            self.metrics,
            account_id=ACCOUNT,
            region=REGION,
            credentials=credentials,
            first_request_id=uuid.UUID(int=7),
            meter=self.meter,
        )

    async def call(self, action: str, **parameters: Any) -> dict[str, Any]:
        """The result as JSON has it, whatever the protocol. Raises Refused."""
        return self.parse(action, await self.answer(self.request(action, parameters)))

    async def refusal(self, action: str, **parameters: Any) -> Refused:
        with pytest.raises(Refused) as caught:
            await self.call(action, **parameters)
        return caught.value

    async def answer(self, request: Request) -> Response:
        answer = self.door(request)
        for _ in range(STEPS_MAX):
            if answer.response is not None:
                return answer.response
            await asyncio.sleep(0)
        raise AssertionError("it waits")

    def begin(self, action: str, **parameters: Any) -> Deferred:
        """To the end of the turn in which it came."""
        answer = self.door(self.request(action, parameters))
        self.queues.turn.flush()
        return answer

    def request(self, action: str, parameters: Mapping[str, Any]) -> Request:
        if self.protocol == "json":
            return json_request(action, json.dumps(parameters, default=_base64).encode())
        form = {"Action": action, "Version": "2012-11-05"}
        _flatten(ACTIONS[action].request, parameters, "", form)
        return query_request(urlencode(form).encode())

    def parse(self, action: str, response: Response) -> dict[str, Any]:
        headers = headers_of(response)
        assert headers[b"x-amzn-RequestId"].startswith(b"00000000-0000-")
        if self.protocol == "json":
            return _parse_json(response)
        return _parse_xml(action, response)


def json_request(action: str, body: bytes) -> Request:
    given = {b"host": HOST.encode(), b"content-type": b"application/x-amz-json-1.0"}
    if action:
        given[b"x-amz-target"] = b"AmazonSQS." + action.encode()
    return Request("POST", "/", "", given, body, "127.0.0.1:5000")


def query_request(body: bytes, *, path: str = "/") -> Request:
    headers = {b"host": HOST.encode(), b"content-type": b"application/x-www-form-urlencoded"}
    return Request("POST", path, "", headers, body, "127.0.0.1:5000")


def _base64(value: object) -> str:
    assert isinstance(value, bytes)
    return base64.b64encode(value).decode()


def _text(value: object) -> str:
    return _base64(value) if isinstance(value, bytes) else str(value)


def _flatten(
    shape: type[Shape], parameters: Mapping[str, Any], prefix: str, form: dict[str, str]
) -> None:
    for member in members_of(shape):
        if member.wire_name not in parameters:
            continue
        value, name = parameters[member.wire_name], prefix + member.query_name
        if member.layout.kind is Kind.LIST:
            if not value:
                form[prefix + member.wire_name] = ""
            for index, each in enumerate(value, 1):
                _flatten_one(member.layout.element, each, f"{name}.{index}", form)
        elif member.layout.kind is Kind.MAP:
            for index, (key, each) in enumerate(value.items(), 1):
                form[f"{name}.{index}.{member.key_name}"] = key
                _flatten_one(member.layout.element, each, f"{name}.{index}.Value", form)
        else:
            form[name] = _text(value)


def _flatten_one(layout: Layout | None, value: Any, name: str, form: dict[str, str]) -> None:
    assert layout is not None
    if layout.shape is not None:
        _flatten(layout.shape, value, f"{name}.", form)
    else:
        form[name] = _text(value)


def headers_of(response: Response) -> dict[bytes, bytes]:
    if isinstance(response.headers, bytes):
        lines = response.headers.split(b"\r\n")[:-1]
        return dict(line.split(b": ", 1) for line in lines)
    return dict(response.headers)


def _parse_json(response: Response) -> dict[str, Any]:
    content = json.loads(response.body) if response.body else {}
    if response.status == 200:
        assert isinstance(content, dict)
        return content
    code, _, kind = dict(response.headers)[b"x-amzn-query-error"].decode().partition(";")
    assert kind == ("Sender" if response.status < 500 else "Receiver")
    assert "#" in content["__type"]
    raise Refused(response, code, content["message"])


def _parse_xml(action: str, response: Response) -> dict[str, Any]:
    root = ElementTree.fromstring(response.body)
    if response.status != 200:
        error = root.find(f"{XML}Error")
        assert error is not None
        code, message = (error.findtext(f"{XML}{name}", "") for name in ("Code", "Message"))
        raise Refused(response, code, message)
    assert root.tag == f"{XML}{action}Response"
    shape = ACTIONS[action].result
    result = root.find(f"{XML}{action}Result")
    return {} if shape is None or result is None else _structure(shape, result)


def _structure(shape: type[Shape], element: ElementTree.Element) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for member in members_of(shape):
        children = element.findall(XML + member.query_name)
        if not children:
            continue
        layout = member.layout
        if layout.kind is Kind.LIST:
            found[member.wire_name] = [_value(layout.element, child) for child in children]
        elif layout.kind is Kind.MAP:
            found[member.wire_name] = {
                child.findtext(XML + member.key_name, ""): _value(
                    layout.element, child.find(f"{XML}Value")
                )
                for child in children
            }
        else:
            found[member.wire_name] = _value(layout, children[0])
    return found


def _value(layout: Layout | None, element: ElementTree.Element | None) -> Any:
    assert layout is not None
    assert element is not None
    if layout.shape is not None:
        return _structure(layout.shape, element)
    text = element.text or ""
    if layout.kind in (Kind.INTEGER, Kind.LONG):
        return int(text)
    return text == "true" if layout.kind is Kind.BOOLEAN else text
