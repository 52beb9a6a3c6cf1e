"""The peer door of a cluster's node, and the network by which it reaches the others."""

from pathlib import Path

from duolog.adapters.network import TcpNetwork, TlsNetwork
from duolog.adapters.tls_contexts import UnusableCertificate, peer_tls_contexts
from duolog.app.data_directory import StartRefused
from duolog.app.listening import cannot_listen
from duolog.app.named_files import check_readable
from duolog.app.world import World
from duolog.config.settings import Settings
from duolog.peer_api.door import PeerDoor, check_peer_listener
from duolog.ports.network import Listener, Network

_TLS = ("peer.tls.ca", "peer.tls.cert", "peer.tls.key")


def peer_network(settings: Settings) -> Network | None:
    """The network between nodes; None for a lone node. Raises StartRefused."""
    if not settings.text("cluster.name"):
        return None
    ca, certificate, key = (settings.text(name) for name in _TLS)
    address = settings.address("peer.listen")
    assert address is not None
    if not any((ca, certificate, key)):
        try:
            check_peer_listener(address.host, tls=False)
        except ValueError as error:
            raise StartRefused(f"The node does not start: {error}.") from None
        return TcpNetwork()
    if not all((ca, certificate, key)):
        raise StartRefused(
            f"Settings {', '.join(_TLS)} must be set together."
            " Set all three, or none on a loopback address."
        )
    check_readable(settings, *_TLS)
    try:
        return TlsNetwork(*peer_tls_contexts(Path(ca), Path(certificate), Path(key)))
    except UnusableCertificate as error:
        raise StartRefused(
            f"The node does not start: {error}. Make new ones with `duolog cluster certs`."
        ) from None


async def listen_to_peers(settings: Settings, door: PeerDoor, world: World) -> Listener:
    address = settings.address("peer.listen")
    assert address is not None
    assert world.peer_network is not None
    try:
        return await world.peer_network.listen(*address, door.new_session)
    except OSError as error:
        raise cannot_listen("peer.listen", address, error) from error
