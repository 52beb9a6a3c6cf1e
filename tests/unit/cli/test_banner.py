"""What a person sees first must be true and must work when copied."""

import ast
import re

import pytest

from duolog.cli.banner import SqsDoor, banner

SHELL = ("kcat", "aws")
OPEN = SqsDoor("123456789012", "eu-west-1", has_credentials=False)


def blocks(text: str) -> dict[str, str]:
    """The examples by client, with their indent removed."""
    found = re.findall(r"^  (\S+)\n((?:    .*\n)+)", text, re.MULTILINE)
    return {client: re.sub(r"^    ", "", code, flags=re.MULTILINE) for client, code in found}


def test_every_open_door_is_named_and_no_other() -> None:
    addresses = {"kafka": "127.0.0.1:9092", "sqs": "127.0.0.1:9324", "admin": "127.0.0.1:9325"}
    text = banner(addresses, OPEN)
    assert "127.0.0.1:9092" in text
    assert "http://127.0.0.1:9324" in text
    assert "http://127.0.0.1:9325" in text
    assert "http://" not in banner({"kafka": "127.0.0.1:9092"}, OPEN)


@pytest.mark.parametrize(
    ("door", "clients"),
    [
        ("kafka", {"kcat", "confluent-kafka", "aiokafka", "kafka-python"}),
        ("sqs", {"boto3", "aws"}),
    ],
)
def test_each_client_of_an_open_door_has_an_example_of_at_most_five_lines(
    door: str, clients: set[str]
) -> None:
    examples = blocks(banner({door: "[::1]:9092"}, OPEN))
    assert set(examples) == clients
    for client, code in examples.items():
        assert len(code.splitlines()) <= 5
        assert "[::1]:9092" in code
        if client not in SHELL:
            ast.parse(code)


def test_the_account_and_the_region_are_the_node_s() -> None:
    examples = blocks(banner({"sqs": "127.0.0.1:9324"}, OPEN))
    assert 'region_name="eu-west-1"' in examples["boto3"]
    assert "AWS_DEFAULT_REGION=eu-west-1" in examples["aws"]
    assert "http://127.0.0.1:9324/123456789012/greetings" in examples["aws"]


def test_where_a_secret_is_needed_no_example_pretends_otherwise() -> None:
    text = banner({"sqs": "127.0.0.1:9324"}, OPEN._replace(has_credentials=True))
    assert "http://127.0.0.1:9324" in text
    assert blocks(text) == {}
