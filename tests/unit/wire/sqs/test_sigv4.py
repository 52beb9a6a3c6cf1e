from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore import auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from duolog.model.queue_errors import (
    AccessDenied,
    IncompleteSignature,
    InvalidClientTokenId,
    InvalidSecurity,
    MissingAuthenticationToken,
    RequestExpired,
    SignatureDoesNotMatch,
)
from duolog.wire.sqs.sigv4 import sign, verify

NOW = datetime(2026, 1, 31, 23, 59, 30, tzinfo=UTC)
NOW_MS = int(NOW.timestamp()) * 1_000
MINUTE_MS = 60_000
REGION = "eu-central-1"
KEYS = {"AKIDEXAMPLE": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
BODY = b'{"QueueUrl":"http://localhost:9324/000000000000/orders","MessageBody":"b"}'
HEADERS = {
    "Content-Type": "application/x-amz-json-1.0",
    "X-Amz-Target": "AmazonSQS.SendMessage",
    "User-Agent": "Boto3/1.43  md/Botocore",
    "Amz-Sdk-Request": "attempt=1;  max=5",
}


class Sent(dict[str, Any]):
    """The parts of a request, as a server has them."""

    def but(self, *, without: bytes = b"", **changes: Any) -> "Sent":
        headers = {
            name: value
            for name, value in (self["headers"] | changes.pop("headers", {})).items()
            if name != without
        }
        return Sent(self | changes | {"headers": headers})

    def verified(self, *, now_ms: int = NOW_MS, region: str = REGION) -> str:
        return verify(**self, secret_of=KEYS.get, region=region, now_ms=now_ms)


@pytest.fixture(autouse=True)
def _botocore_s_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth, "get_current_datetime", lambda: NOW.replace(tzinfo=None))


def sent_by_botocore(
    signer: type[auth.SigV4Auth] = auth.SigV4Auth,
    url: str = "http://localhost:9324/",
    method: str = "POST",
    body: Any = BODY,
    headers: dict[str, str] = HEADERS,
    token: str | None = None,
    region: str = REGION,
    service: str = "sqs",
    **context: Any,
) -> Sent:
    ((access_key, secret_key),) = KEYS.items()
    request = AWSRequest(method, url, headers=dict(headers), data=body)
    request.context.update(context)
    signer(Credentials(access_key, secret_key, token), service, region).add_auth(request)
    prepared = request.prepare()
    parts = urlsplit(prepared.url)
    arrived = {
        name.lower().encode(): value if isinstance(value, bytes) else str(value).encode()
        for name, value in prepared.headers.items()
    }
    return Sent(
        method=method,
        path=parts.path or "/",
        query=parts.query,
        headers={b"host": parts.netloc.encode(), **arrived},
        body=prepared.body or b"",
    )


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:9324/",
        "http://localhost:9324",
        "http://localhost:9324/000000000000/orders.fifo",
        "http://localhost:9324/000000000000//a/../b/./orders/",
        "http://localhost:9324/000000000000/%C3%BC%20x",
        "http://localhost:9324/?b=2&a=1&a=0&a.b=%2F&empty=",
    ],
)
def test_what_botocore_signs_is_verified(url: str) -> None:
    assert sent_by_botocore(url=url).verified() == "AKIDEXAMPLE"


@pytest.mark.parametrize("token", [None, "a/session+token=="])
def test_a_session_token_is_signed_with_the_rest(token: str | None) -> None:
    assert sent_by_botocore(token=token).verified() == "AKIDEXAMPLE"
    presigned = sent_by_botocore(auth.SigV4QueryAuth, method="GET", body=None, token=token)
    assert presigned.verified() == "AKIDEXAMPLE"


def test_the_date_may_be_in_a_date_header() -> None:
    sent = sent_by_botocore(headers={**HEADERS, "Date": "to be replaced"})
    assert b"x-amz-date" not in sent["headers"]
    assert sent.verified() == "AKIDEXAMPLE"


def test_a_presigned_url_is_verified() -> None:
    sent = sent_by_botocore(
        auth.SigV4QueryAuth,
        url="http://localhost:9324/000000000000/orders",
        method="GET",
        headers={},
        body={"Action": "SendMessage", "MessageBody": "ü & +/~ x", "Attribute.1.Name": "A"},
    )
    assert "X-Amz-Signature=" in sent["query"]
    assert sent.verified() == "AKIDEXAMPLE"
    for altered in (
        sent["query"].replace("Action=SendMessage", "Action=PurgeQueue"),
        sent["query"] + "&Extra=1",
        sent["query"].replace("X-Amz-Expires=3600", "X-Amz-Expires=7200"),
    ):
        with pytest.raises(SignatureDoesNotMatch):
            sent.but(query=altered).verified()


def test_a_presigned_url_is_good_until_it_expires() -> None:
    sent = sent_by_botocore(auth.SigV4QueryAuth, method="GET", headers={}, body=None)
    assert sent.verified(now_ms=NOW_MS + 60 * MINUTE_MS) == "AKIDEXAMPLE"
    with pytest.raises(RequestExpired):
        sent.verified(now_ms=NOW_MS + 60 * MINUTE_MS + 1)
    with pytest.raises(RequestExpired):
        sent.verified(now_ms=NOW_MS - 15 * MINUTE_MS - 1)


def test_clocks_may_be_a_quarter_of_an_hour_apart() -> None:
    sent, skew_ms = sent_by_botocore(), 15 * MINUTE_MS
    for now_ms in (NOW_MS - skew_ms, NOW_MS, NOW_MS + skew_ms):
        assert sent.verified(now_ms=now_ms) == "AKIDEXAMPLE"
    for now_ms in (NOW_MS - skew_ms - 1, NOW_MS + skew_ms + 1):
        with pytest.raises(RequestExpired):
            sent.verified(now_ms=now_ms)


@pytest.mark.parametrize(
    "change",
    [
        {"body": BODY + b" "},
        {"method": "GET"},
        {"path": "/other"},
        {"query": "a=1"},
        {"headers": {b"x-amz-target": b"AmazonSQS.PurgeQueue"}},
        {"headers": {b"host": b"elsewhere"}},
        {"headers": {b"x-amz-date": b"20260131T235931Z"}},
        {"headers": {b"x-amz-meta": b"added on the way"}},
        {"headers": {b"x-amz-content-sha256": b"UNSIGNED-PAYLOAD"}},
        {"without": b"content-type"},
    ],
    ids=str,
)
def test_whatever_is_changed_on_the_way_is_noticed(change: Any) -> None:
    with pytest.raises(SignatureDoesNotMatch):
        sent_by_botocore().but(**change).verified()


def test_a_body_may_be_left_unsigned_if_that_is_signed() -> None:
    sent = sent_by_botocore(url="https://localhost:9324/", payload_signing_enabled=False)
    assert sent["headers"][b"x-amz-content-sha256"] == b"UNSIGNED-PAYLOAD"
    assert sent.but(body=b"another").verified() == "AKIDEXAMPLE"


def test_a_hash_in_a_header_must_be_that_of_the_body() -> None:
    wrong = sent_by_botocore(headers={**HEADERS, "X-Amz-Content-SHA256": "0" * 64})
    with pytest.raises(SignatureDoesNotMatch, match="hash"):
        wrong.verified()


def test_host_has_to_be_signed() -> None:
    sent = sent_by_botocore()
    authorization = sent["headers"][b"authorization"].replace(b";host", b"")
    with pytest.raises(SignatureDoesNotMatch, match="Host"):
        sent.but(headers={b"authorization": authorization}).verified()


def test_a_signature_is_for_one_region_and_service() -> None:
    with pytest.raises(SignatureDoesNotMatch, match="region"):
        sent_by_botocore().verified(region="us-east-1")
    with pytest.raises(SignatureDoesNotMatch, match="service"):
        sent_by_botocore(service="sns").verified()


def test_who_is_unknown_is_told_so() -> None:
    sent = sent_by_botocore()
    authorization = sent["headers"][b"authorization"].replace(b"AKID", b"DIKA")
    with pytest.raises(InvalidClientTokenId):
        sent.but(headers={b"authorization": authorization}).verified()


def test_a_request_that_is_not_signed_lacks_a_token() -> None:
    with pytest.raises(MissingAuthenticationToken):
        sent_by_botocore().but(without=b"authorization").verified()


@pytest.mark.parametrize(
    "authorization",
    [b"AWS4-ECDSA-P256-SHA256 Credential=x", b"AWS AKIDEXAMPLE:abc", b"Basic dTpw", b""],
)
def test_other_ways_of_signing_are_refused(authorization: bytes) -> None:
    with pytest.raises(InvalidSecurity):
        sent_by_botocore().but(headers={b"authorization": authorization}).verified()


@pytest.mark.parametrize(
    "authorization",
    [
        b"AWS4-HMAC-SHA256",
        b"AWS4-HMAC-SHA256 Credential=, SignedHeaders=host, Signature=0",
        b"AWS4-HMAC-SHA256 Credential=a/b/c, SignedHeaders=host, Signature=0",
        b"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260131/eu-central-1/sqs/aws4_request",
        b"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260131/eu-central-1/sqs/end, "
        b"SignedHeaders=host, Signature=0",
    ],
)
def test_an_incomplete_signature_is_refused(authorization: bytes) -> None:
    with pytest.raises(IncompleteSignature):
        sent_by_botocore().but(headers={b"authorization": authorization}).verified()


@pytest.mark.parametrize(
    "date",
    [b"", b"yesterday", b"20260231T000000Z", b"20260131T240000Z", b"Sat, 31 Foo 2026 23:59:30 GMT"],
)
def test_a_date_that_is_none_is_refused(date: bytes) -> None:
    with pytest.raises(IncompleteSignature):
        sent_by_botocore().but(headers={b"x-amz-date": date}).verified()


@pytest.mark.parametrize("seconds", ["0", "604801", "-1", "x", "", "9" * 5_000])
def test_a_presigned_url_lasts_a_week_at_most(seconds: str) -> None:
    sent = sent_by_botocore(auth.SigV4QueryAuth, method="GET", headers={}, body=None)
    query = sent["query"].replace("X-Amz-Expires=3600", f"X-Amz-Expires={seconds}")
    with pytest.raises(IncompleteSignature):
        sent.but(query=query).verified()


@given(
    body=st.binary(max_size=50),
    path=st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="?#")),
    query=st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="#")),
)
def test_what_is_signed_here_is_verified_here(body: bytes, path: str, query: str) -> None:
    parts: dict[str, Any] = {"method": "POST", "path": f"/{path}", "query": query, "body": body}
    ((access_key, secret_key),) = KEYS.items()
    headers = sign(
        **parts,
        headers={b"host": b"localhost:9324", b"content-type": b"text/plain"},
        access_key=access_key,
        secret_key=secret_key,
        region=REGION,
        now_ms=NOW_MS,
    )
    assert Sent(parts, headers=headers).verified() == access_key


def test_what_is_signed_here_is_signed_as_botocore_does() -> None:
    theirs = sent_by_botocore(headers={"X-Amz-Target": "AmazonSQS.SendMessage"})
    ((access_key, secret_key),) = KEYS.items()
    ours = sign(
        "POST",
        "/",
        "",
        {b"host": b"localhost:9324", b"x-amz-target": b"AmazonSQS.SendMessage"},
        BODY,
        access_key=access_key,
        secret_key=secret_key,
        region=REGION,
        now_ms=NOW_MS,
    )
    assert ours[b"authorization"] == theirs["headers"][b"authorization"]
    assert ours[b"x-amz-date"] == theirs["headers"][b"x-amz-date"]


@given(st.binary(max_size=100), st.text(max_size=100), st.binary(max_size=20))
def test_arbitrary_claims_are_only_ever_denied(header: bytes, query: str, date: bytes) -> None:
    for headers in ({b"authorization": b"AWS4-HMAC-SHA256 " + header, b"x-amz-date": date}, {}):
        claim = query.encode().decode("latin-1")
        with pytest.raises(AccessDenied):
            verify(
                "GET",
                "/",
                f"X-Amz-Signature=0&{claim}",
                headers,
                b"",
                secret_of=lambda _: "secret",
                region=REGION,
                now_ms=NOW_MS,
            )
