"""The brokers of the cluster, as clients are told of them."""

from duolog.broker.broker import Broker
from duolog.wire.kafka.leaders import NodeEndpoint

DOOR = "kafka"


def endpoint(broker: Broker, node: int) -> NodeEndpoint | None:
    """Where clients reach a node; None while it is gone, or has no door for them."""
    if node == broker.node_id:
        return NodeEndpoint(node, *broker.advertised, broker.rack)
    nodes = broker.catalog.nodes
    live, address = nodes.live.get(node), nodes.address_of(node, DOOR)
    if live is None or address is None:
        return None
    return NodeEndpoint(node, *address, live.registration.rack or None)


def endpoints(broker: Broker) -> list[NodeEndpoint]:
    """All that can be reached, this one among them in any case: the client has reached it."""
    nodes = sorted({*broker.catalog.nodes.live, broker.node_id})
    found = (endpoint(broker, node) for node in nodes)
    return [each for each in found if each is not None]


def controller_id(broker: Broker) -> int:
    """Whom clients send what concerns the whole cluster.

    Every node can do that, so it is this one where the controller cannot be reached.
    """
    controller = broker.catalog.nodes.controller
    if controller is None or endpoint(broker, controller) is None:
        return broker.node_id
    return controller
