import pytest

from duolog.wire.kafka.special_offsets import EARLIEST, LATEST
from pyspark_duolog.errors import InvalidOption
from pyspark_duolog.option import Endpoint
from pyspark_duolog.source.options import SourceOptions, read_options

REQUIRED = {"kafka.bootstrap.servers": "a:9092", "subscribe": "orders"}


def read(**given: str) -> SourceOptions:
    return read_options(REQUIRED | given)


def test_names_may_be_written_in_any_case() -> None:
    lowered = {name.lower(): text for name, text in REQUIRED.items()}
    assert read_options(lowered | {"MINPARTITIONS": "3"}).min_partitions == 3


def test_brokers_and_topics_are_lists() -> None:
    options = read_options(
        {"kafka.bootstrap.servers": "a:1, [::1]:2", "subscribe": "orders, bills,orders"}
    )
    assert options.bootstrap_servers == (Endpoint("a", 1), Endpoint("::1", 2))
    assert options.subscribe == ("orders", "bills")


def test_offsets_are_named_or_given() -> None:
    assert read(startingOffsets="EARLIEST").starting_offsets == EARLIEST
    assert read().ending_offsets == LATEST
    given = read(startingOffsets='{"orders": {"0": 23, "1": -2}}').starting_offsets
    assert given == {"orders": {0: 23, 1: EARLIEST}}


def test_nothing_is_lost_silently_unless_it_is_asked_for() -> None:
    assert read().fail_on_data_loss
    assert not read(failOnDataLoss="false").fail_on_data_loss


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"subscribePattern": ".*"}, "exactly one of"),
        ({"subscribe": " , "}, "names no topic"),
        ({"startingOffsets": "sometimes"}, "is no JSON"),
        ({"startingOffsets": '{"orders": {"0": -3}}'}, "no offset for partition 0"),
        ({"startingOffsets": '{"orders": {"0": 1.5}}'}, "no offset for partition 0"),
        ({"startingOffsets": "latest", "startingTimestamp": "5"}, "cannot both"),
        ({"endingOffsets": "earliest"}, "cannot be earliest"),
        ({"startingTimestamp": "-5"}, "milliseconds since 1970"),
        ({"maxOffsetsPerTrigger": "0"}, "no positive integer"),
        ({"minPartitions": "²"}, "no positive integer"),
        ({"failOnDataLoss": "perhaps"}, "neither true nor false"),
        ({"kafka.bootstrap.servers": "broker"}, "no list of HOST:PORT"),
        ({"kafka.security.protocol": "SASL_SSL"}, "only PLAINTEXT"),
        ({"readMode": "both"}, "neither broker nor segments"),
        ({"readMode": "segments"}, "only be given together"),
        ({"dataDirectory": "/data"}, "only be given together"),
        ({"readMode": "segments", "dataDirectory": "data"}, "no list of absolute paths"),
        ({"maxOffsets": "5"}, "there is no option 'maxOffsets'"),
    ],
)
def test_a_wrong_option_is_refused_with_a_reason(given: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        read(**given)


@pytest.mark.parametrize("given", [{}, {"subscribe": "t"}, {"kafka.bootstrap.servers": "a:1"}])
def test_brokers_and_something_to_read_are_required(given: dict[str, str]) -> None:
    with pytest.raises(InvalidOption):
        read_options(given)


def test_a_pattern_has_to_be_one() -> None:
    with pytest.raises(InvalidOption, match="no regular expression"):
        read_options({"kafka.bootstrap.servers": "a:1", "subscribePattern": "("})


@pytest.mark.parametrize("text", ["[]", '{"orders": 1}', '{"orders": [-1]}', "{}", "x"])
def test_an_assignment_names_partitions(text: str) -> None:
    with pytest.raises(InvalidOption):
        read_options({"kafka.bootstrap.servers": "a:1", "assign": text})
