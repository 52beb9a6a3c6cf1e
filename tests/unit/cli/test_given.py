"""Where a command finds the node."""

from pathlib import Path

import pytest

from duolog.cli.failures import ExitCode, Failure
from duolog.cli.given import Door, door_address, parse_pairs
from duolog.config.address import Address


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for door in ("KAFKA", "SQS", "ADMIN"):
        monkeypatch.delenv(f"DUOLOG_{door}_LISTEN", raising=False)


@pytest.mark.parametrize(("door", "port"), [("kafka", 9092), ("sqs", 9324), ("admin", 9325)])
def test_by_default_it_is_a_node_on_this_machine(door: Door, port: int) -> None:
    assert door_address(door, None, None) == Address("127.0.0.1", port)


def test_a_flag_beats_the_environment_which_beats_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "duolog.toml"
    file.write_text('[sqs]\nlisten = "file:1"\n')
    assert door_address("sqs", None, file) == Address("file", 1)
    monkeypatch.setenv("DUOLOG_SQS_LISTEN", "environment:2")
    assert door_address("sqs", None, file) == Address("environment", 2)
    assert door_address("sqs", "flag:3", file) == Address("flag", 3)


def test_a_node_that_listens_everywhere_is_found_here(tmp_path: Path) -> None:
    file = tmp_path / "duolog.toml"
    file.write_text('[admin]\nlisten = "0.0.0.0:9325"\n[sqs]\nlisten = "[::]:9324"\n')
    assert door_address("admin", None, file) == Address("127.0.0.1", 9325)
    assert door_address("sqs", None, file) == Address("::1", 9324)


def test_the_kafka_door_is_where_clients_are_told(tmp_path: Path) -> None:
    file = tmp_path / "duolog.toml"
    file.write_text('[kafka]\nlisten = "0.0.0.0:9092"\nadvertised = "broker:0"\n')
    assert door_address("kafka", None, file) == Address("broker", 9092)


@pytest.mark.parametrize("given", ["nowhere", "host:", "host:99999"])
def test_what_is_no_address_is_a_usage_error(given: str) -> None:
    with pytest.raises(SystemExit) as ended:
        door_address("kafka", given, None)
    assert ended.value.code == ExitCode.USAGE


def test_pairs_are_split_at_the_first_equals_sign() -> None:
    assert parse_pairs(["a=b=c", "d="], "-a") == {"a": "b=c", "d": ""}
    assert parse_pairs(None, "-a") == {}


@pytest.mark.parametrize("text", ["a", "=b", ""])
def test_what_is_no_pair_is_a_usage_error(text: str) -> None:
    with pytest.raises(Failure, match="not of the form name=value") as failure:
        parse_pairs([text], "-a")
    assert failure.value.code is ExitCode.USAGE
