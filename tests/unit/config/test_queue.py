"""Queue attributes have SQS's names, bounds, defaults and refusals; ours are beside them."""

import json
import re
from dataclasses import fields
from pathlib import Path

import botocore.loaders
import pytest
from hypothesis import given
from hypothesis import strategies as st

import duolog
from duolog.config.queue import (
    EXTENSION_PREFIX,
    READ_ONLY_ATTRIBUTES,
    SETTABLE_ATTRIBUTES,
    QueueConfig,
    attribute_texts,
    canonical_attributes,
    changed_attributes,
    differing_attribute,
    parse_queue_config,
)
from duolog.config.queue_attributes import QUEUE_ATTRIBUTES
from duolog.config.reference import reference_page
from duolog.model.queue_errors import (
    InvalidAttributeName,
    InvalidAttributeValue,
    InvalidParameterValue,
    QueueRefusal,
)

FIFO = {"FifoQueue": "true"}
ARN = "arn:aws:sqs:us-east-1:000000000000:"
OUR_OWN = {name for name in QUEUE_ATTRIBUTES if name.startswith(EXTENSION_PREFIX)}
SOURCES = Path(duolog.__file__).parent
ONLY_SHOWN = {"policy", "kms_master_key_id", "kms_reuse_seconds", "sse_enabled"}
"""Fields of attributes that are kept and told, and change nothing."""


def redrive(queue: str = "dead", count: object = 3) -> str:
    return json.dumps({"deadLetterTargetArn": ARN + queue, "maxReceiveCount": count})


def test_every_attribute_of_the_model_of_sqs_is_known() -> None:
    model = botocore.loaders.Loader().load_service_model("sqs", "service-2")
    named = set(model["shapes"]["QueueAttributeName"]["enum"]) - {"All"}
    known = SETTABLE_ATTRIBUTES | READ_ONLY_ATTRIBUTES
    assert {name for name in known if not name.startswith(EXTENSION_PREFIX)} == named


def test_every_attribute_has_a_field_and_every_field_an_attribute() -> None:
    held = [attribute.field for attribute in QUEUE_ATTRIBUTES.values()]
    assert [
        f"declare the attribute whose field is `{field.name}` in _OF_SQS or _OUR_OWN in"
        " src/duolog/config/queue_attributes.py"
        for field in fields(QueueConfig)
        if field.name not in held
    ] == []
    assert len(held) == len(set(held))


def test_every_attribute_takes_effect() -> None:
    paths = [path for path in SOURCES.rglob("*.py") if path != SOURCES / "config" / "queue.py"]
    texts = [path.read_text() for path in paths]
    assert [
        f"nothing in src/duolog reads `config.{attribute.field}`: the attribute {name} does nothing"
        for name, attribute in QUEUE_ATTRIBUTES.items()
        if attribute.field not in ONLY_SHOWN
        and not any(re.search(rf"\.{attribute.field}\b", text) for text in texts)
    ] == []


def test_every_attribute_is_on_the_reference_page() -> None:
    page = reference_page()
    assert all(f"| `{name}` |" in page for name in QUEUE_ATTRIBUTES)


def test_without_attributes_everything_is_as_sqs_has_it() -> None:
    config = parse_queue_config("orders", {})
    assert config == QueueConfig()
    texts = attribute_texts(config)
    assert {name: text for name, text in texts.items() if name not in OUR_OWN} == {
        "DelaySeconds": "0",
        "MaximumMessageSize": "1048576",
        "MessageRetentionPeriod": "345600",
        "ReceiveMessageWaitTimeSeconds": "0",
        "VisibilityTimeout": "30",
        "SqsManagedSseEnabled": "false",
    }
    assert {name: texts.get(name, "") for name in OUR_OWN} == {
        name: QUEUE_ATTRIBUTES[name].default_text for name in OUR_OWN
    }


def test_a_fifo_queue_shows_what_only_it_has() -> None:
    texts = attribute_texts(parse_queue_config("a.fifo", FIFO))
    assert texts["FifoQueue"] == "true"
    assert texts["ContentBasedDeduplication"] == "false"
    assert texts["DeduplicationScope"] == "queue"
    assert texts["FifoThroughputLimit"] == "perQueue"


BOUNDS = {
    "DelaySeconds": (0, 900),
    "MaximumMessageSize": (1024, 1_048_576),
    "MessageRetentionPeriod": (60, 1_209_600),
    "ReceiveMessageWaitTimeSeconds": (0, 20),
    "VisibilityTimeout": (0, 43_200),
    "KmsDataKeyReusePeriodSeconds": (60, 86_400),
    "duolog:RetainDeleted": (0, 1_209_600),
    "duolog:PushConcurrency": (1, 100),
}


def test_the_bounds_of_every_number_are_tried() -> None:
    assert [
        f'add `"{name}": (<least>, <most>),` to BOUNDS in tests/unit/config/test_queue.py'
        for name, attribute in QUEUE_ATTRIBUTES.items()
        if attribute.kind == "int" and name not in BOUNDS
    ] == []


@pytest.mark.parametrize(("name", "bounds"), BOUNDS.items())
def test_a_number_may_reach_its_bounds_and_not_pass_them(
    name: str, bounds: tuple[int, int]
) -> None:
    field = QUEUE_ATTRIBUTES[name].field
    for number in bounds:
        assert getattr(parse_queue_config("a", {name: str(number)}), field) == number
    for text in (str(bounds[0] - 1), str(bounds[1] + 1), "", "x", "1.5", " 60", "٦٠", "1" * 30):
        with pytest.raises(InvalidAttributeValue) as refused:
            parse_queue_config("a", {name: text})
        assert str(refused.value) == f"Invalid value for the parameter {name}."


@pytest.mark.parametrize(
    "name", ["Colour", "", "delayseconds", "All", *sorted(READ_ONLY_ATTRIBUTES)]
)
def test_an_attribute_that_cannot_be_set_is_unknown(name: str) -> None:
    with pytest.raises(InvalidAttributeName, match=f"Unknown Attribute {name}."):
        parse_queue_config("a", {name: "1"})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("FifoQueue", "false"),
        ("ContentBasedDeduplication", "true"),
        ("DeduplicationScope", "queue"),
        ("FifoThroughputLimit", "perQueue"),
    ],
)
def test_a_standard_queue_does_not_know_the_attributes_of_fifo(name: str, text: str) -> None:
    with pytest.raises(InvalidAttributeName, match=f"Unknown Attribute {name}."):
        parse_queue_config("a", {name: text})


def test_name_and_kind_must_agree() -> None:
    with pytest.raises(InvalidParameterValue, match=r"must end with \.fifo suffix"):
        parse_queue_config("a", FIFO)
    with pytest.raises(InvalidParameterValue, match="Can only include alphanumeric"):
        parse_queue_config("a.fifo", {})
    with pytest.raises(InvalidAttributeValue, match="FifoQueue"):
        parse_queue_config("a.fifo", {"FifoQueue": "false"})


def test_high_throughput_needs_deduplication_by_group() -> None:
    limit = {"FifoThroughputLimit": "perMessageGroupId"}
    with pytest.raises(InvalidAttributeValue, match="only when the value for DeduplicationScope"):
        parse_queue_config("a.fifo", {**FIFO, **limit})
    scope = {"DeduplicationScope": "messageGroup"}
    assert parse_queue_config("a.fifo", {**FIFO, **limit, **scope}).is_high_throughput
    assert not parse_queue_config("a.fifo", {**FIFO, **scope}).is_high_throughput


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("DeduplicationScope", "group"),
        ("DeduplicationScope", ""),
        ("FifoThroughputLimit", "perqueue"),
        ("ContentBasedDeduplication", "yes"),
        ("ContentBasedDeduplication", ""),
        ("SqsManagedSseEnabled", "1"),
        ("KmsMasterKeyId", "k" * 2049),
        ("Policy", "[]"),
        ("Policy", "{"),
        ("Policy", json.dumps({"Id": "x" * 8192})),
        ("Policy", "[" * 8000),
        ("duolog:Delivery", "exactly-once"),
        ("duolog:Durability", "never"),
        ("duolog:SourceTopic", "a/b"),
        ("duolog:SourceTopic", "__consumer_offsets"),
        ("duolog:SourceTopic", "__queue.orders"),
        ("duolog:PushEndpoint", "ftp://host/"),
        ("duolog:PushEndpoint", "http://"),
        ("duolog:PushEndpoint", "host:80"),
        ("duolog:PushEndpoint", "http://user:pw@host/"),
        ("duolog:PushEndpoint", "http://user@host/"),
        ("duolog:PushEndpoint", "http://host:0/"),
        ("duolog:PushEndpoint", "http://host:99999/"),
        ("duolog:PushEndpoint", "http://[::1/"),
        ("duolog:PushEndpoint", "http://host/#part"),
        ("duolog:PushEndpoint", "http://host/a b"),
        ("duolog:PushEndpoint", "http://host/\r\nX: y"),
        ("duolog:PushEndpoint", "http://host/" + "x" * 2048),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_name(name: str, text: str) -> None:
    with pytest.raises(InvalidAttributeValue, match=f"^Invalid value for the parameter {name}."):
        parse_queue_config("a.fifo", {**FIFO, name: text})


def test_our_own_attributes_take_effect() -> None:
    config = parse_queue_config(
        "a",
        {
            "duolog:Delivery": "at-most-once",
            "duolog:Durability": "os",
            "duolog:SourceTopic": "events.v1",
            "duolog:RetainDeleted": "3600",
            "duolog:PushEndpoint": "https://[::1]:8443/hook?x=1",
            "duolog:PushConcurrency": "100",
        },
    )
    assert (config.delivery, config.durability, config.source_topic) == (
        "at-most-once",
        "os",
        "events.v1",
    )
    assert (config.retain_deleted_seconds, config.push_concurrency) == (3600, 100)
    assert config.push_endpoint == "https://[::1]:8443/hook?x=1"


@pytest.mark.parametrize(
    "name",
    [
        "Policy",
        "RedrivePolicy",
        "RedriveAllowPolicy",
        "KmsMasterKeyId",
        "duolog:Durability",
        "duolog:SourceTopic",
        "duolog:PushEndpoint",
    ],
)
def test_an_empty_text_is_as_if_it_were_not_given(name: str) -> None:
    assert parse_queue_config("a", {name: ""}) == QueueConfig()
    assert canonical_attributes({name: ""}) == {}


def test_two_kinds_of_encryption_exclude_each_other() -> None:
    both = {"KmsMasterKeyId": "alias/aws/sqs", "SqsManagedSseEnabled": "true"}
    with pytest.raises(InvalidAttributeName, match="one type of server-side encryption"):
        parse_queue_config("a", both)
    alone = changed_attributes({"SqsManagedSseEnabled": "true"}, {"KmsMasterKeyId": "key"})
    assert alone == {"KmsMasterKeyId": "key"}
    assert attribute_texts(parse_queue_config("a", alone))["KmsDataKeyReusePeriodSeconds"] == "300"


def test_dead_letters_stay_among_queues_of_one_kind_and_never_go_round() -> None:
    config = parse_queue_config("a", {"RedrivePolicy": redrive()})
    assert config.redrive is not None
    assert (config.redrive.dead_letter_queue, config.redrive.max_receive_count) == ("dead", 3)
    with pytest.raises(InvalidParameterValue, match="same type of queue"):
        parse_queue_config("a", {"RedrivePolicy": redrive("dead.fifo")})
    with pytest.raises(InvalidParameterValue, match="same type of queue"):
        parse_queue_config("a.fifo", {**FIFO, "RedrivePolicy": redrive("dead")})
    with pytest.raises(InvalidParameterValue, match="its own dead-letter queue"):
        parse_queue_config("a", {"RedrivePolicy": redrive("a")})


def test_attributes_are_kept_in_one_way_of_writing() -> None:
    written = {
        "VisibilityTimeout": "007",
        "FifoQueue": "TRUE",
        "RedrivePolicy": redrive("dead.fifo", "5"),
    }
    assert canonical_attributes(written) == {
        "VisibilityTimeout": "7",
        "FifoQueue": "true",
        "RedrivePolicy": f'{{"deadLetterTargetArn":"{ARN}dead.fifo","maxReceiveCount":5}}',
    }


def test_changing_attributes_leaves_the_others_and_can_unset_them() -> None:
    present = {"VisibilityTimeout": "5", "RedrivePolicy": redrive()}
    changed = changed_attributes(present, {"RedrivePolicy": "", "DelaySeconds": "1"})
    assert changed == {"VisibilityTimeout": "5", "DelaySeconds": "1"}


def test_the_kind_of_a_queue_never_changes() -> None:
    assert changed_attributes(FIFO, FIFO) == FIFO
    with pytest.raises(InvalidAttributeValue, match="Modifying queue type is not supported"):
        changed_attributes(FIFO, {"FifoQueue": "false"})
    for text in ("true", "false"):
        with pytest.raises(InvalidAttributeName, match="Unknown Attribute FifoQueue"):
            changed_attributes({}, {"FifoQueue": text})


def test_the_source_of_a_queue_never_changes() -> None:
    present = {"duolog:SourceTopic": "events"}
    assert changed_attributes(present, present) == present
    for now, wanted in ((present, "others"), (present, ""), ({}, "events")):
        with pytest.raises(InvalidAttributeValue, match="cannot be changed"):
            changed_attributes(now, {"duolog:SourceTopic": wanted})


def test_only_given_attributes_are_compared_and_by_what_they_mean() -> None:
    config = parse_queue_config("a", {"VisibilityTimeout": "5", "RedrivePolicy": redrive()})
    same = {"VisibilityTimeout": "05", "DelaySeconds": "0", "RedrivePolicy": redrive(count="3")}
    assert differing_attribute(config, same) is None
    assert differing_attribute(config, {}) is None
    assert differing_attribute(config, {"VisibilityTimeout": "6"}) == "VisibilityTimeout"
    assert differing_attribute(config, {"RedrivePolicy": ""}) == "RedrivePolicy"


# Left out: how long a data key is used is not shown where there is no key.
SHOWN = sorted(set(QUEUE_ATTRIBUTES) - {"KmsDataKeyReusePeriodSeconds"})


@given(st.dictionaries(st.sampled_from(SHOWN), st.text(max_size=20)))
def test_whatever_is_given_is_accepted_or_refused(attributes: dict[str, str]) -> None:
    try:
        config = parse_queue_config("a.fifo", {**FIFO, **attributes})
    except QueueRefusal:
        return
    assert parse_queue_config("a.fifo", attribute_texts(config)) == config
