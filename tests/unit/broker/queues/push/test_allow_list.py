"""Where queues may push to."""

from ipaddress import ip_address

import pytest

from duolog.broker.queues.push.allow_list import PushAllowList
from duolog.model.queue_errors import InvalidAttributeValue


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example/",
        "https://HOOKS.example:8443/path?query",
        "http://10.1.2.3/",
        "http://10.1.2.3:9/",
        "https://192.0.2.7/",
        "http://[fd00::1]:80/",
        # It may resolve to an address in 10.0.0.0/8: that is seen when it is connected to.
        "http://inside.example/",
    ],
)
def test_an_endpoint_that_may_be_allowed_is_accepted(url: str) -> None:
    PushAllowList(["hooks.example", "10.0.0.0/8", "192.0.2.7:443", "[fd00::/8]:80"]).check(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://other.example/",
        "http://hooks.example/",
        "http://sub.hooks.example:8443/",
        "http://127.0.0.1/",
        "http://192.0.2.7:81/",
        "http://[fd00::1]/",
        "http://169.254.169.254/",
    ],
)
def test_an_endpoint_that_can_never_be_allowed_is_refused_with_the_settings_name(url: str) -> None:
    allow = PushAllowList(["hooks.example:8443", "192.0.2.7:8080"])
    with pytest.raises(InvalidAttributeValue, match=r"push\.allow"):
        allow.check(url)


def test_nothing_is_allowed_unless_it_is_said() -> None:
    with pytest.raises(InvalidAttributeValue, match=r"push\.allow"):
        PushAllowList([]).check("http://127.0.0.1:80/")


def test_what_counts_in_the_end_is_the_address_that_is_connected_to() -> None:
    allow = PushAllowList(["10.0.0.0/8"])
    assert allow.allows("inside.example", ip_address("10.0.0.1"), 80)
    assert allow.allows("inside.example", ip_address("::ffff:10.0.0.1"), 80)
    assert not allow.allows("inside.example", ip_address("169.254.169.254"), 80)
