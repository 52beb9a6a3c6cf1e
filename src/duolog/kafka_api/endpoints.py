"""Addresses of the cluster's brokers, as clients are told them."""

from duolog.broker.broker import Broker
from duolog.wire.kafka.leaders import NodeEndpoint

DOOR = "kafka"


def endpoint(broker: Broker, node: int) -> NodeEndpoint | None:
    """Address of a node's Kafka door; None while the node is gone, or if it has none."""
    if node == broker.node_id:
        return NodeEndpoint(node, *broker.advertised, broker.rack)
    nodes = broker.catalog.nodes
    live, address = nodes.live.get(node), nodes.address_of(node, DOOR)
    if live is None or address is None:
        return None
    return NodeEndpoint(node, *address, live.registration.rack or None)


def endpoints(broker: Broker) -> list[NodeEndpoint]:
    """All reachable brokers, this one always among them: the client has reached it."""
    nodes = sorted({*broker.catalog.nodes.live, broker.node_id})
    found = (endpoint(broker, node) for node in nodes)
    return [each for each in found if each is not None]


def controller_id(broker: Broker) -> int:
    """The broker to which clients send cluster-wide requests.

    Every node can serve them, so this node is named where the controller cannot be reached.
    """
    controller = broker.catalog.nodes.controller
    if controller is None or endpoint(broker, controller) is None:
        return broker.node_id
    return controller
