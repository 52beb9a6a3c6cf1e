"""Keys go where other clients put them."""

from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2 as peer_murmur2

from duolog.client.partitioner import murmur2, partition_of


@given(st.binary(max_size=40))
def test_the_hash_is_that_of_the_java_client(key: bytes) -> None:
    assert murmur2(key) & 0x7FFFFFFF == peer_murmur2(key) & 0x7FFFFFFF


@given(st.binary(max_size=40), st.integers(1, 100))
def test_a_key_always_has_a_partition(key: bytes, partitions: int) -> None:
    assert 0 <= partition_of(key, partitions) < partitions
