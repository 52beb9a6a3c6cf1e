import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.adapters.etcd.address import (
    ENDPOINTS_MAX,
    BadAddress,
    Endpoint,
    cluster_prefix,
    parse_store_address,
)


def test_an_address_names_endpoints_in_order():
    address = parse_store_address("etcd://b.example:2379,a.example:23790")
    assert address.endpoints == (Endpoint("b.example", 2379), Endpoint("a.example", 23790))
    assert not address.with_tls


def test_the_scheme_says_whether_tls_is_used():
    assert parse_store_address("etcds://etcd-1").with_tls


def test_a_port_may_be_left_out():
    assert parse_store_address("etcd://one").endpoints == (Endpoint("one", 2379),)


def test_an_ipv6_address_is_written_in_brackets():
    address = parse_store_address("etcd://[::1]:5,127.0.0.1:6")
    assert address.endpoints == (Endpoint("::1", 5), Endpoint("127.0.0.1", 6))
    assert str(address) == "etcd://[::1]:5,127.0.0.1:6"


def test_spaces_and_a_last_slash_do_not_matter():
    assert parse_store_address(" etcd://a:1, b:2/ ") == parse_store_address("etcd://a:1,b:2")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a:1",
        "http://a:1",
        "etcd://",
        "etcd://a:1,",
        "etcd://a:0",
        "etcd://a:65536",
        "etcd://a:x",
        "etcd://a:1/path",
        "etcd://user:password@a:1",
        "etcd://::1:5",
        "etcd://a b:1",
        "etcd://a:1,a:1",
        "etcd://" + ",".join(f"a{n}:1" for n in range(ENDPOINTS_MAX + 1)),
    ],
)
def test_what_is_no_address_is_refused(text):
    with pytest.raises(BadAddress):
        parse_store_address(text)


@given(st.text())
def test_any_text_is_understood_or_refused(text):
    for address in (text, f"etcd://{text}"):
        try:
            parsed = parse_store_address(address)
        except BadAddress:
            continue
        assert parse_store_address(str(parsed)) == parsed


def test_each_cluster_has_a_prefix_of_its_own():
    assert cluster_prefix("main") == "/duolog/main/"
    for name in ("", "a/b", "ä", "x" * 101):
        with pytest.raises(BadAddress):
            cluster_prefix(name)
