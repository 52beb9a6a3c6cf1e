"""What `/readyz` says of a node's place in its cluster.

A node whose lease may have ended refuses everything, so whoever spreads requests must hear of it
at the same moment: both listen to the same membership.
"""

from collections.abc import Callable

from duolog.broker.membership.membership import Membership
from duolog.observe.health import Health

_CONDITION = "membership"
_JOINING = "the node has not joined its cluster yet"
_OUT_OF_TOUCH = (
    "the node has lost touch with the metadata store and serves nothing until it is back:"
    " check that etcd runs, and that this node reaches it at its store.address"
)


def expect_membership(health: Health) -> None:
    """Not ready before `follow_membership` says so."""
    health.set(_CONDITION, False, _JOINING)


def follow_membership(health: Health, membership: Membership) -> Callable[[], None]:
    """Ready while the lease is surely held. Returns what ends this, for a node that is about to
    leave: it gives its lease back, and is not out of touch."""

    def suspended() -> None:
        health.set(_CONDITION, False, _OUT_OF_TOUCH)

    def resumed() -> None:
        health.set(_CONDITION, True)

    def end() -> None:
        membership.on_suspend.remove(suspended)
        membership.on_resume.remove(resumed)

    membership.on_suspend.append(suspended)
    membership.on_resume.append(resumed)
    if membership.is_serving:
        resumed()
    else:
        suspended()
    return end
