"""Requests that the HTTP load generator sends, and the file format that it shares with us."""

import json
import time

import pytest
from bench.http_load import join_frames, split_frames, sqs_request
from bench.signature import AccessKey

from duolog.adapters.http_pool import HttpLimits
from duolog.adapters.http_reader import RequestReader
from duolog.model.queue_errors import AccessDenied
from duolog.ports.http import Request
from duolog.wire.sqs import sigv4


def test_what_is_joined_can_be_split() -> None:
    frames = [b"one", b"", b"three" * 1000]
    assert list(split_frames(join_frames(frames))) == frames


def test_a_request_is_one_that_a_server_reads() -> None:
    sent = sqs_request("SendMessage", {"MessageBody": "ü"}, host="127.0.0.1:9324")
    ((request, keeps_alive),) = RequestReader(HttpLimits(), "peer").feed(sent)
    assert isinstance(request, Request)
    assert keeps_alive
    assert request.headers[b"x-amz-target"] == b"AmazonSQS.SendMessage"
    assert json.loads(request.body) == {"MessageBody": "ü"}


def signer(request: Request, secret: str) -> str:
    return sigv4.verify(
        request.method,
        request.path,
        request.query,
        request.headers,
        request.body,
        secret_of=lambda name: secret,
        region="us-east-1",
        now_ms=time.time_ns() // 1_000_000,
    )


def test_a_signed_request_is_one_that_a_node_with_credentials_takes() -> None:
    sent = sqs_request("SendMessage", {"MessageBody": "ü"}, host="h:1", key=AccessKey("me", "s"))
    ((request, _),) = RequestReader(HttpLimits(), "peer").feed(sent)
    assert isinstance(request, Request)
    assert signer(request, "s") == "me"
    with pytest.raises(AccessDenied):
        signer(request, "another")
