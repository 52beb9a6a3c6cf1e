"""Readiness of a cluster's node, as `/readyz` shows it.

A node whose lease may have ended refuses everything, so load balancers must learn of it at the same
moment: both depend on the same membership.
"""

from collections.abc import Callable

from duolog.broker.membership.membership import Membership
from duolog.broker.reserve import Reserve
from duolog.observe.health import Health

_CONDITION = "membership"
_JOINING = "the node has not joined its cluster yet"
_OUT_OF_TOUCH = (
    "the node has lost touch with the metadata store and serves nothing until it is back:"
    " check that etcd runs, and that this node reaches it at its store.address"
)


def expect_membership(health: Health) -> None:
    """Mark the node as not ready, until `follow_membership` says otherwise."""
    health.set(_CONDITION, False, _JOINING)


def follow_membership(health: Health, membership: Membership) -> Callable[[], None]:
    """Keep the node ready while its lease is surely held.

    Returns a function that ends this, for a node that leaves: giving its lease back is no loss of
    touch.
    """

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


def follow_room(health: Health, reserve: Reserve) -> None:
    """Note a full disk. The node stays ready: a balancer would take receiving and deleting, which
    make room, away."""
    reserve.on_change.append(lambda: health.note("disk", reserve.trouble))
