"""Requests that the HTTP load generator sends, and the file format that it shares with us."""

import json

from bench.http_load import join_frames, split_frames, sqs_request

from duolog.adapters.http_pool import HttpLimits
from duolog.adapters.http_reader import RequestReader
from duolog.ports.http import Request


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
