"""Queue URLs name one queue, in several ways, and nothing else does."""

import pytest

from duolog.model.queue_errors import QueueDoesNotExist
from duolog.sqs_api.queue_urls import URL_CHARS_MAX, URLS_REMEMBERED_MAX, QueueUrls

ACCOUNT = "123456789012"


@pytest.fixture
def urls() -> QueueUrls:
    return QueueUrls(ACCOUNT)


def test_a_url_has_the_host_that_the_client_used(urls: QueueUrls) -> None:
    assert urls.of("10.0.0.1:9324", "orders") == f"http://10.0.0.1:9324/{ACCOUNT}/orders"


@pytest.mark.parametrize(
    "url",
    [
        f"http://localhost:9324/{ACCOUNT}/orders.fifo",
        f"https://sqs.eu-west-1.amazonaws.com/{ACCOUNT}/orders.fifo",
        f"HTTP://[::1]:9324/{ACCOUNT}/orders.fifo",
        f"http://localhost/{ACCOUNT}/orders.fifo/",
        f"/{ACCOUNT}/orders.fifo",
        "orders.fifo",
    ],
)
def test_any_host_the_path_and_the_bare_name_are_the_same_queue(urls: QueueUrls, url: str) -> None:
    assert urls.name_in(url) == "orders.fifo"
    assert urls.name_in(url) == "orders.fifo"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "/",
        "http://localhost:9324",
        "http://localhost:9324/orders",
        "http://localhost:9324/000000000000/orders",
        f"ftp://localhost/{ACCOUNT}/orders",
        f"http:///{ACCOUNT}/orders",
        f"http://localhost/{ACCOUNT}/",
        f"http://localhost/{ACCOUNT}/a/b",
        f"http://localhost/{ACCOUNT}/orders?x=1",
        f"http://localhost/{ACCOUNT}/orders\n",
        f"http://localhost/{ACCOUNT}/or%64ers",
        f"/{ACCOUNT}/" + "a" * 81,
        f"http://{'h' * URL_CHARS_MAX}/{ACCOUNT}/orders",
        "\u212aelvin",
    ],
)
def test_what_is_shaped_otherwise_is_no_queue(urls: QueueUrls, url: str) -> None:
    with pytest.raises(QueueDoesNotExist):
        urls.name_in(url)


def test_what_is_remembered_is_bounded(urls: QueueUrls) -> None:
    for number in range(URLS_REMEMBERED_MAX + 10):
        assert urls.name_in(f"/{ACCOUNT}/q{number}") == f"q{number}"
    assert len(urls.known) <= URLS_REMEMBERED_MAX
