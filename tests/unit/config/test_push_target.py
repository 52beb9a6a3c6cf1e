"""Where a queue may push to, and nowhere else."""

from ipaddress import ip_address

import pytest

from duolog.config.push_target import parse_push_target


@pytest.mark.parametrize(
    ("target", "host", "address", "port"),
    [
        ("hooks.example", "hooks.example", "203.0.113.1", 80),
        ("hooks.example", "HOOKS.example", "203.0.113.1", 8443),
        ("hooks.example:443", "hooks.example", "203.0.113.1", 443),
        ("10.0.0.0/8", "10.1.2.3", "10.1.2.3", 80),
        ("10.0.0.0/8:8080", "inside.example", "10.1.2.3", 8080),
        ("127.0.0.1:9000", "localhost", "127.0.0.1", 9000),
        ("127.0.0.1:9000", "localhost", "::ffff:127.0.0.1", 9000),
        ("::1", "localhost", "::1", 80),
        ("fd00::/8", "a.example", "fd12::1", 80),
        ("[fd00::/8]:443", "a.example", "fd12::1", 443),
        ("[::1]:443", "::1", "::1", 443),
    ],
)
def test_what_is_listed_is_allowed(target: str, host: str, address: str, port: int) -> None:
    assert parse_push_target(target).allows(host, ip_address(address), port)


@pytest.mark.parametrize(
    ("target", "host", "address", "port"),
    [
        ("hooks.example", "example", "203.0.113.1", 80),
        ("hooks.example", "evil.hooks.example", "203.0.113.1", 80),
        ("hooks.example:443", "hooks.example", "203.0.113.1", 80),
        ("10.0.0.0/8", "inside.example", "11.0.0.1", 80),
        ("10.0.0.0/8:8080", "10.1.2.3", "10.1.2.3", 80),
        ("10.0.0.0/8", "10.1.2.3", "fd12::1", 80),
        ("127.0.0.1", "127.0.0.1", "127.0.0.2", 80),
    ],
)
def test_everything_else_is_not(target: str, host: str, address: str, port: int) -> None:
    assert not parse_push_target(target).allows(host, ip_address(address), port)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":80",
        "a:0",
        "a:65536",
        "a:b",
        "10.0.0.1/8",
        "999.0.0.1",
        "10.0.0.0/33",
        "-a",
        "a b",
        "[]",
    ],
)
def test_what_names_no_place_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_push_target(text)
