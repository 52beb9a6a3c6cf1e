"""Limits on what members bring to a group and take from it."""

from collections.abc import Mapping

from duolog.core.groups.messages import JoinRequest
from duolog.core.groups.roster import Roster
from duolog.core.groups.settings import GroupSettings
from duolog.model.errors import GroupMaxSizeReached, InvalidRequest, InvalidSessionTimeout
from duolog.model.limits import GROUP_TEXT_BYTES_MAX


def check_join(request: JoinRequest, settings: GroupSettings) -> None:
    shortest_ms, longest_ms = settings.session_timeout_ms_min, settings.session_timeout_ms_max
    if not shortest_ms <= request.session_timeout_ms <= longest_ms:
        raise InvalidSessionTimeout(
            f"the session time-out has to be between {shortest_ms} and {longest_ms} ms"
        )
    texts = [request.instance_id or "", request.protocol_type, request.client_host]
    texts += (each.name for each in request.protocols)
    if any(len(each.encode()) > GROUP_TEXT_BYTES_MAX for each in texts):
        raise InvalidRequest(f"a name in a group has at most {GROUP_TEXT_BYTES_MAX} bytes")
    if request.metadata_bytes > settings.member_bytes_max:
        raise InvalidRequest(f"a member has at most {settings.member_bytes_max} bytes of metadata")


def check_group_bytes(roster: Roster, request: JoinRequest, settings: GroupSettings) -> None:
    """Checks the group's size with the newcomer, or with a member's new metadata instead of its
    old."""
    present = None
    if request.instance_id is not None:
        present = roster.member_of(request.instance_id)
    member = roster.members.get(present or request.member_id)
    others_bytes = roster.size_bytes - (member.size_bytes if member else 0)
    if others_bytes + request.size_bytes > settings.group_bytes_max:
        raise GroupMaxSizeReached("the metadata of the group's members is too large in total")


def check_assignments(assignments: Mapping[str, bytes], settings: GroupSettings) -> None:
    sizes = [len(each) for each in assignments.values()]
    if max(sizes, default=0) > settings.member_bytes_max:
        raise InvalidRequest(f"an assignment has at most {settings.member_bytes_max} bytes")
    if sum(sizes) > settings.group_bytes_max:
        raise InvalidRequest(f"a group's assignments have at most {settings.group_bytes_max} bytes")
