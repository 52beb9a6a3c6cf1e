"""Accepts connections of the other nodes of the cluster."""

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
    """Limits of each connection that another node opens."""

    in_flight_max: int = IN_FLIGHT_MAX
    """Maximum number of concurrent requests. A peer that exceeds it is no node of ours: cut off."""
    backlog_bytes_max: int = 64 << 20
    """Unsent answer bytes above which the connection is no longer read (back-pressure)."""
    hello_ms_max: int = 5_000
    """Time-out of a new connection's hello."""


class PeerDoor:
    def __init__(
        self,
        handlers: PeerHandlers,
        hello: Callable[[], Hello],
        *,
        cluster: str | None = None,
        bounds: DoorBounds | None = None,
    ) -> None:
        """Requires a certificate of the cluster from each node if `cluster` is set."""
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
        """Closes all connections and cancels the requests being served."""
        for session in list(self._sessions):
            session.abort()


def check_peer_listener(host: str, *, tls: bool) -> None:
    """Raises ValueError if the listener would accept unauthenticated nodes from the network."""
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
