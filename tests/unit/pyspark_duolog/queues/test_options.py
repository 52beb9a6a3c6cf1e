import pytest

from pyspark_duolog.errors import InvalidOption
from pyspark_duolog.queues.options import QueueOptions, read_queue_options

REQUIRED = {"queue": "orders", "adminAddress": "127.0.0.1:9644"}


def read(**given: str) -> QueueOptions:
    return read_queue_options(REQUIRED | given)


def test_every_state_is_read_unless_one_is_named() -> None:
    assert read().state is None
    assert read(queueState="Ready").state == "ready"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"queueState": "lost"}, "'lost' is none of all, ready"),
        ({"adminAddress": "node"}, "no list of HOST:PORT"),
        ({"subscribe": "orders"}, "there is no option 'subscribe'"),
    ],
)
def test_a_wrong_option_is_refused_with_a_reason(given: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        read(**given)


def test_an_address_is_required() -> None:
    with pytest.raises(InvalidOption, match="adminAddress is required"):
        read_queue_options({"queue": "orders"})
