"""What a person sees first must be true and must work when copied."""

import ast
import re

from duolog.cli.banner import banner


def blocks(text: str) -> dict[str, str]:
    """The examples by client, with their indent removed."""
    found = re.findall(r"^  (\S+)\n((?:    .*\n)+)", text, re.MULTILINE)
    return {client: re.sub(r"^    ", "", code, flags=re.MULTILINE) for client, code in found}


def test_every_open_door_is_named_and_no_other() -> None:
    text = banner({"kafka": "127.0.0.1:9092", "admin": "127.0.0.1:9325"})
    assert "127.0.0.1:9092" in text
    assert "http://127.0.0.1:9325" in text
    assert "http://" not in banner({"kafka": "127.0.0.1:9092"})


def test_each_client_has_an_example_of_at_most_five_lines() -> None:
    examples = blocks(banner({"kafka": "[::1]:9092"}))
    assert set(examples) == {"kcat", "confluent-kafka", "aiokafka", "kafka-python"}
    for client, code in examples.items():
        assert len(code.splitlines()) <= 5
        assert "[::1]:9092" in code
        if client != "kcat":
            ast.parse(code)
