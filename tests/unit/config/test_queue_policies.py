"""Redrive policies mean what they mean in SQS, and are refused in its words."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.config.queue_policies import parse_redrive_allow_policy, parse_redrive_policy
from duolog.model.queue_errors import InvalidParameterValue

ARN = "arn:aws:sqs:us-east-1:000000000000:dead"


def redrive(**members: Any) -> str:
    return json.dumps({"deadLetterTargetArn": ARN, "maxReceiveCount": 3} | members)


@pytest.mark.parametrize("count", [1, 1000, "1", "1000"])
def test_the_receive_count_is_a_number_or_a_text(count: object) -> None:
    policy = parse_redrive_policy(redrive(maxReceiveCount=count))
    assert (policy.dead_letter_arn, policy.dead_letter_queue) == (ARN, "dead")
    assert policy.max_receive_count == int(str(count))
    assert json.loads(str(policy))["maxReceiveCount"] == int(str(count))


@pytest.mark.parametrize("count", [0, 1001, -1, "", "x", 1.5, True, None, [], "1" * 40])
def test_a_receive_count_out_of_bounds_is_refused(count: object) -> None:
    with pytest.raises(InvalidParameterValue, match="valid values are from 1 to 1000 both"):
        parse_redrive_policy(redrive(maxReceiveCount=count))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not a valid JSON map"),
        ("[]", "not a valid JSON map"),
        ("{", "not a valid JSON map"),
        ("[" * 5000, "not a valid JSON map"),
        ('{"a":' * 1500, "not a valid JSON map"),
        (redrive(x="y" * 9000), "not a valid JSON map"),
        ("{}", "mandatory attribute: deadLetterTargetArn"),
        ('{"deadLetterTargetArn":"x"}', "mandatory attribute: maxReceiveCount"),
        (redrive(deadLetterTargetArn="dummy"), "Invalid value for deadLetterTargetArn"),
        (redrive(deadLetterTargetArn=1), "Invalid value for deadLetterTargetArn"),
    ],
)
def test_a_redrive_policy_that_is_none_is_refused(text: str, reason: str) -> None:
    with pytest.raises(InvalidParameterValue, match=reason) as refused:
        parse_redrive_policy(text)
    assert str(refused.value).startswith(f"Value {text} for parameter RedrivePolicy is invalid.")


def allow(permission: object, sources: Any = None) -> str:
    members = {} if sources is None else {"sourceQueueArns": sources}
    return json.dumps({"redrivePermission": permission, **members})


def test_who_may_send_dead_letters_here() -> None:
    assert parse_redrive_allow_policy(allow("allowAll")).permits("anybody")
    assert not parse_redrive_allow_policy(allow("denyAll")).permits("anybody")
    some = parse_redrive_allow_policy(allow("byQueue", [ARN]))
    assert some.permits("dead")
    assert not some.permits("others")
    assert parse_redrive_allow_policy(str(some)) == some


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "{}",
        "[]",
        allow("all"),
        allow(["allowAll"]),
        allow("byQueue"),
        allow("byQueue", []),
        allow("byQueue", [f"{ARN}{n}" for n in range(11)]),
        allow("byQueue", "x"),
        allow("byQueue", ["x"]),
        allow("byQueue", [1]),
        allow("allowAll", [ARN]),
        allow("denyAll", [ARN]),
    ],
)
def test_a_redrive_allow_policy_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameterValue, match="for parameter RedriveAllowPolicy is invalid"):
        parse_redrive_allow_policy(text)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@given(json_values, json_values)
def test_any_json_is_a_policy_or_refused(first: object, second: object) -> None:
    for parse, names in (
        (parse_redrive_policy, ("deadLetterTargetArn", "maxReceiveCount")),
        (parse_redrive_allow_policy, ("redrivePermission", "sourceQueueArns")),
    ):
        with pytest.raises(InvalidParameterValue):
            parse(json.dumps(dict(zip(names, (first, second), strict=True))))
