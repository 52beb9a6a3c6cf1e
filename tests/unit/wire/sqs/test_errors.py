from xml.etree import ElementTree

import pytest
from botocore.parsers import create_parser
from tests.unit.wire.sqs.public_model import JSON_MODEL, QUERY_MODEL

from duolog.model import queue_errors
from duolog.model.queue_errors import QueueRefusal
from duolog.wire.sqs import json_protocol, query_protocol
from duolog.wire.sqs.errors import FAULTS, fault

every_fault = pytest.mark.parametrize("name", sorted(FAULTS))
MESSAGE = 'Not <that> & "this".'


@every_fault
def test_a_client_reads_an_error_in_json(name: str) -> None:
    told = fault(name, MESSAGE)
    response = {
        "status_code": told.http_status,
        "headers": {"x-amzn-query-error": told.query_error.decode()},
        "body": json_protocol.encode_error(told),
    }
    output = JSON_MODEL.operation_model("SendMessage").output_shape
    error = create_parser("json").parse(response, output)["Error"]
    assert error["Code"] == told.query_code
    assert error["QueryErrorCode"] == told.code
    assert error["Type"] == ("Sender" if told.sender else "Receiver")
    assert error["Message"] == MESSAGE


@every_fault
def test_a_client_reads_an_error_in_query(name: str) -> None:
    told = fault(name, MESSAGE)
    body = query_protocol.encode_error(told, b"an-id")
    response = {"status_code": told.http_status, "headers": {}, "body": body}
    output = QUERY_MODEL.operation_model("SendMessage").output_shape
    answer = create_parser("query").parse(response, output)
    assert answer["Error"]["Code"] == told.query_code
    assert answer["Error"]["Type"] == ("Sender" if told.sender else "Receiver")
    assert answer["Error"]["Message"] == MESSAGE
    assert answer["ResponseMetadata"]["RequestId"] == "an-id"
    assert ElementTree.fromstring(body).tag.endswith("}ErrorResponse")


def test_an_error_without_words_of_its_own_has_the_table_s() -> None:
    assert fault("QueueDoesNotExist").message == "The specified queue does not exist."
    assert fault("QueueDoesNotExist", "No.").message == "No."


def test_every_refusal_of_queues_has_an_error_of_its_name() -> None:
    names = {
        name
        for name, kind in vars(queue_errors).items()
        if isinstance(kind, type) and issubclass(kind, QueueRefusal) and kind is not QueueRefusal
    }
    assert {name for name in names if not {name, f"{name}Exception"} & set(FAULTS)} == set()
