import shutil
from hashlib import md5

import pytest
from hypothesis import given
from hypothesis import strategies as st
from moto.sqs.models import Message as MotoMessage

from duolog.wire.sqs import digests
from duolog.wire.sqs.digests import md5_of_attributes, md5_of_bodies, md5_of_body

compiled = pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no compiler")

NAMES = st.text("abcXYZ019_.-", min_size=1, max_size=10)
TEXTS = st.tuples(
    st.sampled_from(["String", "Number", "String.label", "Number.float"]),
    st.text(min_size=1, max_size=20).map(str.encode),
)
BLOBS = st.tuples(st.sampled_from(["Binary", "Binary.png"]), st.binary(min_size=1, max_size=20))


def test_a_body_s_digest_is_that_of_its_utf8() -> None:
    assert md5_of_body("zürich".encode()) == md5(b"z\xc3\xbcrich").hexdigest()


@compiled
def test_many_bodies_are_digested_by_what_was_compiled() -> None:
    assert digests.md5_of_each.__module__ == "duolog.wire.sqs._md5"


@pytest.mark.parametrize("size", [0, 1, 55, 56, 57, 63, 64, 65, 119, 120, 1024, 262_144])
@pytest.mark.parametrize("count", [0, 1, 3, 16, 17])
def test_bodies_of_one_length_have_the_digests_that_each_has(size: int, count: int) -> None:
    bodies = [bytes([number]) * size for number in range(count)]
    assert list(md5_of_bodies(bodies)) == [md5(body).hexdigest() for body in bodies]


@given(st.lists(st.binary(max_size=200), max_size=40))
def test_bodies_of_any_lengths_have_the_digests_that_each_has(bodies: list[bytes]) -> None:
    assert list(md5_of_bodies(bodies)) == [md5(body).hexdigest() for body in bodies]


@compiled
@pytest.mark.parametrize("values", [(), [1], ["text"], [bytearray(3)], None])
def test_what_is_no_list_of_bytes_is_refused(values: object) -> None:
    with pytest.raises(TypeError):
        digests.md5_of_each(values)  # type: ignore[arg-type]


def test_attributes_have_the_digest_that_amazon_gives_them() -> None:
    attributes = {"timestamp": ("Number", b"1493147359900")}
    assert md5_of_attributes(attributes) == "235c5c510d26fb653d073faed50ae77c"


@given(st.dictionaries(NAMES, TEXTS | BLOBS, min_size=1, max_size=10))
def test_the_digest_is_the_one_that_clients_compute(
    attributes: dict[str, tuple[str, bytes]],
) -> None:
    as_sent = {
        name: {"DataType": data_type, "BinaryValue": value}
        if data_type.startswith("Binary")
        else {"DataType": data_type, "StringValue": value.decode()}
        for name, (data_type, value) in attributes.items()
    }
    message = MotoMessage("id", "body")
    message.message_attributes = as_sent
    assert md5_of_attributes(attributes) == message.attribute_md5
