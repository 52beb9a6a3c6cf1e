"""Who is a program on this machine, where nothing is signed."""

import pytest

from duolog.wire.local_requests import why_not_local

HERE = "127.0.0.1:1"


@pytest.mark.parametrize(
    "peer", ["127.0.0.1:1", "127.8.9.10:9", "[::1]:80", "[::ffff:127.0.0.1]:80"]
)
def test_a_program_on_this_machine_is_served(peer: str) -> None:
    assert why_not_local(peer, {b"host": b"127.0.0.1:9324"}) is None


@pytest.mark.parametrize(
    "peer", ["10.0.0.1:80", "[2001:db8::1]:80", "1270.0.0.1:80", "[::11]:80", ""]
)
def test_another_machine_is_not(peer: str) -> None:
    assert why_not_local(peer, {b"host": b"127.0.0.1:9324"}) == "only its own machine"


@pytest.mark.parametrize(
    "header",
    [{b"origin": b"null"}, {b"origin": b"http://localhost"}, {b"sec-fetch-site": b"same-site"}],
)
def test_a_page_in_a_browser_is_not(header: dict[bytes, bytes]) -> None:
    assert why_not_local(HERE, header) == "no pages of the web"


def test_what_is_typed_into_a_browser_is() -> None:
    assert why_not_local(HERE, {b"sec-fetch-site": b"none"}) is None


@pytest.mark.parametrize(
    "host",
    [
        b"localhost",
        b"LocalHost:9324",
        b"queues.localhost:1",
        b"127.0.0.1",
        b"127.3.2.1:9",
        b"[::1]:9324",
    ],
)
def test_it_may_be_asked_by_its_local_names(host: bytes) -> None:
    assert why_not_local(HERE, {b"host": host}) is None


@pytest.mark.parametrize(
    "host",
    [
        b"rebound.example:9324",
        b"localhost.example",
        b"notlocalhost",
        b"127.0.0.1.example",
        b"localhost:80@evil.example",
        b"localhost, evil.example",
        b"localhost\n",
        b"",
        b"[::1].example",
        # Browsers do not say that a page asks for these, which lead to this machine as well.
        b"0.0.0.0:9324",
        b"[::]:9324",
        b"[::ffff:7f00:1]:9324",
    ],
)
def test_it_may_not_be_asked_by_any_other(host: bytes) -> None:
    assert "localhost" in (why_not_local(HERE, {b"host": host}) or "")
