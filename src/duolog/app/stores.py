"""Choice of the metadata store by the settings, and error texts for when it cannot be used."""

from collections.abc import Callable
from pathlib import Path

from duolog.adapters.etcd.address import BadAddress, cluster_prefix, parse_store_address
from duolog.adapters.etcd.security import Credentials, TlsFiles
from duolog.adapters.etcd.store import EtcdStore
from duolog.adapters.sqlite import SqliteStore
from duolog.app.data_directory import DataDirectory, Identity, StartRefused
from duolog.app.named_files import check_readable
from duolog.broker.membership.entries import decode_record, node_key
from duolog.config.settings import Settings
from duolog.ports.clock import Clock
from duolog.ports.metastore import MetaStore, StoreUnavailable

METADATA_NAME = "metadata.sqlite"

_TLS = ("store.ca", "store.cert", "store.key")


async def open_store(
    settings: Settings,
    directory: DataDirectory,
    clock: Clock,
    on_failure: Callable[[Exception], None],
    make_room: Callable[[], bool],
) -> MetaStore:
    """Open SQLite for a lone node, else etcd. Raises StoreUnavailable, or StartRefused for
    contradictory settings."""
    name, address = settings.text("cluster.name"), settings.text("store.address")
    if not name:
        if address:
            raise StartRefused(
                "A store is given, but no cluster. Name the cluster with --cluster,"
                " or leave out --store for a node alone."
            )
        alone = await SqliteStore.open(str(directory.path / METADATA_NAME), clock)
        alone.on_failure = on_failure
        alone.make_room = make_room
        return alone
    if (directory.path / METADATA_NAME).exists():
        raise StartRefused(
            f"The data directory {directory.path} belongs to a node alone."
            " Choose another with --data for this cluster."
        )
    return await open_etcd(settings)


async def open_etcd(settings: Settings) -> EtcdStore:
    """Connect to the cluster's etcd, on the event loop that runs."""
    name, address = settings.text("cluster.name"), settings.text("store.address")
    try:
        parsed, prefix = parse_store_address(address), cluster_prefix(name)
    except BadAddress as error:
        raise StartRefused(f"The cluster's store cannot be found: {error}.") from None
    user = settings.text("store.user")
    return await EtcdStore.open(
        parsed.endpoints,
        prefix,
        tls=_tls_files(settings) if parsed.with_tls else None,
        credentials=Credentials(user, settings.get("store.password")) if user else None,
    )


def _tls_files(settings: Settings) -> TlsFiles:
    check_readable(settings, *_TLS)
    ca, certificate, key = (Path(text) if (text := settings.text(name)) else None for name in _TLS)
    return TlsFiles(ca, certificate, key)


async def check_directory(store: MetaStore, settings: Settings, identity: Identity) -> None:
    """Refuse a data directory other than the one that this node of the cluster had."""
    entry = await store.get(node_key(identity.node_id))
    if entry is None or decode_record(entry).directory == identity.directory:
        return
    if not settings.flag("node.disk.replaced"):
        raise StartRefused(
            f"The data directory is not the one that node {identity.node_id} had: it was emptied,"
            " or belongs to another machine. Bring back the old one; or, if its disk is lost,"
            " start once with `--set node.disk.replaced=true`, and all copies are made again."
        )


def unusable_metadata(
    settings: Settings, directory: DataDirectory, error: StoreUnavailable
) -> StartRefused:
    if settings.text("cluster.name"):
        return StartRefused(
            f"The cluster's store cannot be used: {error}."
            " Make sure that etcd runs at the addresses that --store names."
        )
    return StartRefused(
        f"The metadata of {directory.path} cannot be used: {error}."
        f" Restore {METADATA_NAME} from a copy of the whole data directory,"
        " or start with an empty one."
    )
