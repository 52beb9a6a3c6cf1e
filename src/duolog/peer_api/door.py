"""Where the other nodes of the cluster connect."""

from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address

from duolog.peer_api.session import PeerSession
from duolog.ports.peers import PeerHandlers
from duolog.ports.transport import Transport
from duolog.wire.peer.frames import IN_FLIGHT_MAX
from duolog.wire.peer.hello import Hello


@dataclass(frozen=True, slots=True)
class DoorBounds:
    """Of each connection that another node makes."""

    in_flight_max: int = IN_FLIGHT_MAX
    """Requests that are served at once. No node makes more, so who does is no node of ours."""
    backlog_bytes_max: int = 64 << 20
    """Answers that wait to be taken before the node is not read from any more."""
    hello_ms_max: int = 5_000
    """How long a connection may take to say who it is."""


class PeerDoor:
    def __init__(
        self,
        handlers: PeerHandlers,
        hello: Callable[[], Hello],
        *,
        cluster: str | None = None,
        bounds: DoorBounds | None = None,
    ) -> None:
        """With the cluster's name, every node must show a certificate of it."""
        self.handlers = handlers
        self.hello = hello
        self.cluster = cluster
        self.bounds = bounds or DoorBounds()
        self._sessions: dict[PeerSession, None] = {}

    def new_session(self, transport: Transport) -> PeerSession:
        session = PeerSession(self, transport)
        self._sessions[session] = None
        return session

    @property
    def connection_count(self) -> int:
        return len(self._sessions)

    def forget(self, session: PeerSession) -> None:
        self._sessions.pop(session, None)

    def close(self) -> None:
        """Close every connection, and cancel what is being served."""
        for session in list(self._sessions):
            session.abort()


def check_peer_listener(host: str, *, tls: bool) -> None:
    """Raises ValueError where everybody on the network could pose as a node of the cluster."""
    if not tls and not is_loopback(host):
        raise ValueError(
            f"nodes would talk over {host} without certificates, which is only allowed on"
            " loopback; make some with `duolog cluster certs`, or listen on 127.0.0.1"
        )


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
