"""Who may ask: this machine without credentials, and with them whoever has one."""

import pytest
from msgspec.structs import replace
from tests.unit.sqs_api.workbench import REGION, Refused, Workbench, json_request, query_request

from duolog.ports.http import Memo, Request
from duolog.wire.sqs.sigv4 import sign

KEYS = {"AKIDEXAMPLE": "secret", "AKIDOTHER": "other"}
LIST = json_request("ListQueues", b"{}")


@pytest.mark.parametrize(
    "peer", ["127.0.0.1:1", "127.8.9.10:65535", "[::1]:80", "[::ffff:127.0.0.1]:80"]
)
async def test_without_credentials_this_machine_may_ask(peer: str) -> None:
    sqs = Workbench()
    assert (await sqs.answer(replace(LIST, peer=peer))).status == 200


@pytest.mark.parametrize(
    "peer", ["10.0.0.1:80", "[2001:db8::1]:80", "1270.0.0.1:80", "[::11]:80", ""]
)
async def test_without_credentials_nobody_else_may_ask(peer: str) -> None:
    sqs = Workbench()
    with pytest.raises(Refused) as refused:
        sqs.parse("ListQueues", await sqs.answer(replace(LIST, peer=peer)))
    assert (refused.value.status, refused.value.code) == (403, "AccessDenied")


async def test_without_credentials_any_signature_will_do() -> None:
    headers = {**LIST.headers, b"authorization": b"AWS4-HMAC-SHA256 Credential=nonsense"}
    assert (await Workbench().answer(replace(LIST, headers=headers))).status == 200


@pytest.mark.parametrize(
    "header",
    [
        {b"origin": b"https://evil.example"},
        {b"origin": b"null"},
        {b"sec-fetch-site": b"cross-site"},
        {b"sec-fetch-site": b"same-origin"},
    ],
)
async def test_without_credentials_no_page_of_the_web_may_ask(header: dict[bytes, bytes]) -> None:
    sqs = Workbench()
    queue = sqs.queues.make("q")
    request = query_request(b"Action=SendMessage&QueueUrl=q&MessageBody=x")
    headers = {**request.headers, **header}
    assert (await sqs.answer(replace(request, headers=headers))).status == 403
    assert queue.sent == []


async def test_without_credentials_no_name_that_a_page_brings_along_is_answered_to() -> None:
    sqs = Workbench()
    sqs.queues.make("q")
    headers = {b"host": b"rebound.example:9324"}
    request = Request("GET", "/", "Action=DeleteQueue&QueueUrl=q", headers, b"", "127.0.0.1:1")
    assert (await sqs.answer(request)).status == 403
    assert sqs.queues.get("q")


async def test_without_credentials_an_address_may_be_typed_into_a_browser() -> None:
    headers = {**LIST.headers, b"sec-fetch-site": b"none"}
    assert (await Workbench().answer(replace(LIST, headers=headers))).status == 200


def _signed(sqs: Workbench, request: Request, key: str, secret: str, at_ms: int = 0) -> Request:
    headers = sign(
        request.method,
        request.path,
        request.query,
        request.headers,
        request.body,
        access_key=key,
        secret_key=secret,
        region=REGION,
        now_ms=sqs.clock.now_ms() + at_ms,
    )
    return replace(request, headers=headers, peer="10.0.0.1:80")


async def test_with_credentials_a_right_signature_is_served_from_anywhere() -> None:
    sqs = Workbench(credentials=KEYS)
    assert (await sqs.answer(_signed(sqs, LIST, "AKIDEXAMPLE", "secret"))).status == 200


@pytest.mark.parametrize(
    ("key", "secret", "at_ms", "code"),
    [
        ("AKIDEXAMPLE", "other", 0, "SignatureDoesNotMatch"),
        ("AKIDNOBODY", "secret", 0, "InvalidClientTokenId"),
        ("AKIDEXAMPLE", "secret", -3_600_000, "RequestExpired"),
    ],
)
async def test_with_credentials_a_wrong_signature_is_refused(
    key: str, secret: str, at_ms: int, code: str
) -> None:
    sqs = Workbench(credentials=KEYS)
    response = await sqs.answer(_signed(sqs, LIST, key, secret, at_ms))
    with pytest.raises(Refused) as refused:
        sqs.parse("ListQueues", response)
    assert refused.value.code == code


async def test_with_credentials_this_machine_must_sign_too() -> None:
    sqs = Workbench(credentials=KEYS)
    assert (await sqs.refusal("ListQueues")).code == "MissingAuthenticationToken"


async def test_a_changed_body_is_refused() -> None:
    sqs = Workbench(credentials=KEYS)
    request = replace(_signed(sqs, LIST, "AKIDEXAMPLE", "secret"), body=b'{"MaxResults": 1}')
    with pytest.raises(Refused) as refused:
        sqs.parse("ListQueues", await sqs.answer(request))
    assert refused.value.code == "SignatureDoesNotMatch"


async def test_a_request_that_is_like_an_allowed_one_has_to_be_signed_as_well() -> None:
    sqs = Workbench(credentials=KEYS)
    memo = Memo()
    allowed = replace(_signed(sqs, LIST, "AKIDEXAMPLE", "secret"), memo=memo)
    assert (await sqs.answer(allowed)).status == 200
    assert (await sqs.answer(replace(allowed, body=b'{"MaxResults": 1}'))).status == 403
    other = replace(_signed(sqs, LIST, "AKIDOTHER", "secret"), memo=memo)
    assert (await sqs.answer(other)).status == 403
    assert memo.serve is None


async def test_the_sender_of_a_message_is_the_key_that_signed_it() -> None:
    sqs = Workbench(credentials=KEYS)
    queue = sqs.queues.make("q")
    request = json_request("SendMessage", b'{"QueueUrl": "q", "MessageBody": "x"}')
    assert (await sqs.answer(_signed(sqs, request, "AKIDOTHER", "other"))).status == 200
    assert queue.sent[0].sender_id == "AKIDOTHER"
