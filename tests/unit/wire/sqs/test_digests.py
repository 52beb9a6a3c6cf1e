from hashlib import md5

from hypothesis import given
from hypothesis import strategies as st
from moto.sqs.models import Message as MotoMessage

from duolog.wire.sqs.digests import md5_of_attributes, md5_of_body

NAMES = st.text("abcXYZ019_.-", min_size=1, max_size=10)
TEXTS = st.tuples(
    st.sampled_from(["String", "Number", "String.label", "Number.float"]),
    st.text(min_size=1, max_size=20).map(str.encode),
)
BLOBS = st.tuples(st.sampled_from(["Binary", "Binary.png"]), st.binary(min_size=1, max_size=20))


def test_a_body_s_digest_is_that_of_its_utf8() -> None:
    assert md5_of_body("zürich".encode()) == md5(b"z\xc3\xbcrich").hexdigest()


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
