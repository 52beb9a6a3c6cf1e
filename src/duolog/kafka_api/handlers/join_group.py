"""JoinGroup: makes a client a member, or keeps it one through a rebalance. Waits for the others."""

from typing import Any

from duolog.broker.broker import Broker
from duolog.core.groups.messages import JoinRequest, MemberProtocol
from duolog.kafka_api.client import Client
from duolog.kafka_api.errors import code_of
from duolog.model.errors import MemberIdRequired, Refusal
from duolog.wire.kafka.messages import to_ms

FIRST_VERSION_WITH_ID_HANDSHAKE = 4
FIRST_VERSION_WITH_SKIP_ASSIGNMENT = 9


async def handle(broker: Broker, request: Any, client: Client) -> dict[str, Any]:
    try:
        reply = await broker.groups.join(request.group_id, _joining(broker, request, client))
    except Refusal as refusal:
        given = refusal.member_id if isinstance(refusal, MemberIdRequired) else request.member_id
        return {"error_code": code_of(refusal), "member_id": given}
    return {
        "error_code": 0,
        "generation_id": reply.generation,
        "protocol_type": reply.protocol_type,
        "protocol_name": reply.protocol,
        "leader": reply.leader,
        "skip_assignment": reply.skip_assignment,
        "member_id": reply.member_id,
        "members": [
            {
                "member_id": member.id,
                "group_instance_id": member.instance_id,
                "metadata": member.metadata,
            }
            for member in reply.members
        ],
    }


def _joining(broker: Broker, request: Any, client: Client) -> JoinRequest:
    instance_id = getattr(request, "group_instance_id", None)
    session_timeout_ms = to_ms(request.session_timeout)
    rebalance_timeout_ms = to_ms(getattr(request, "rebalance_timeout", None))
    if rebalance_timeout_ms < 0:
        # Old versions have no rebalance time-out; the session's applies to both.
        rebalance_timeout_ms = session_timeout_ms
    return JoinRequest(
        member_id=request.member_id,
        instance_id=instance_id,
        client_id=client.client_id,
        # Tools expect an address as Java prints it: behind the host name, which is left empty.
        client_host=f"/{client.host}",
        session_timeout_ms=session_timeout_ms,
        rebalance_timeout_ms=rebalance_timeout_ms,
        protocol_type=request.protocol_type,
        protocols=tuple(MemberProtocol(each.name, each.metadata) for each in request.protocols),
        fresh_member_id=broker.groups.fresh_member_id(client.client_id, instance_id),
        knows_id_handshake=client.api_version >= FIRST_VERSION_WITH_ID_HANDSHAKE,
        knows_skip_assignment=client.api_version >= FIRST_VERSION_WITH_SKIP_ASSIGNMENT,
    )
