"""Settings by which a node becomes a member of a cluster."""

from duolog.config.address import Address
from duolog.config.declaring import count, in_bytes, in_ms, setting
from duolog.config.setting import Setting
from duolog.model.cluster import ROLES

KIB = 1024
MIB = 1024 * KIB

CLUSTER_SETTINGS: tuple[Setting, ...] = (
    setting(
        "cluster.name",
        "text",
        "",
        "Cluster that this node belongs to; empty is a node alone, which needs no store.",
    ),
    setting(
        "store.address",
        "text",
        "",
        "Where the cluster keeps its metadata: `etcd://host:port,host:port`, or `etcds://` for"
        " TLS.",
    ),
    setting("store.ca", "text", "", "Certificate that the store's TLS is checked with."),
    setting("store.cert", "text", "", "Certificate that is shown to the store."),
    setting("store.key", "text", "", "Key of that certificate."),
    setting("store.user", "text", "", "User of the store, where it asks for one."),
    setting("store.password", "text", "", "Password of that user.", secret=True),
    setting(
        "node.roles",
        "list",
        ROLES,
        "What this node does: `broker` holds partitions, `frontend` answers SQS requests,"
        " `controller` may be elected to decide who leads.",
        form="broker, frontend, controller",
        fits=lambda role: role in ROLES,
    ),
    setting(
        "node.host",
        "text",
        "",
        "Machine of this node; two copies of a partition are on two of them where possible."
        " Empty is the machine's own name.",
    ),
    setting(
        "node.disk.replaced",
        "bool",
        False,
        "Start although the data directory is not the one that this node had; its copies are made"
        " again from those of the other nodes. Only for the first start with a new disk.",
    ),
    setting(
        "peer.listen",
        "address",
        Address("127.0.0.1", 9326),
        "Where the other nodes connect. Without certificates only on a loopback address.",
    ),
    setting(
        "peer.advertised",
        "address",
        None,
        "Address that the other nodes are told to use; empty is `peer.listen`, and port 0 is its"
        " port.",
        optional=True,
    ),
    setting("peer.tls.ca", "text", "", "Certificate that the other nodes are checked with."),
    setting("peer.tls.cert", "text", "", "Certificate that is shown to the other nodes."),
    setting("peer.tls.key", "text", "", "Key of that certificate."),
    in_ms(
        "broker.session.timeout.ms",
        2_000,
        "Silence after which the others elect new leaders for what this node led; they notice a"
        " process that has ended sooner.",
        least=1_000,
    ),
    count(
        "default.replication.factor",
        3,
        "Copies of a topic that does not say how many; fewer where there are fewer brokers.",
        most=100,
    ),
    in_ms(
        "replica.lag.time.max.ms",
        10_000,
        "How long a replica may lag behind before its leader goes on without it.",
    ),
    in_ms("replica.fetch.wait.max.ms", 500, "How long a replica waits for something to copy."),
    in_bytes(
        "replica.fetch.response.max.bytes",
        10 * MIB,
        "Most bytes that a replica copies with one request.",
        least=KIB,
    ),
    in_bytes(
        "replica.reassignment.bytes.per.second",
        64 * MIB,
        "How fast replicas that a reassignment brings in are filled.",
        least=KIB,
    ),
    in_ms(
        "leader.imbalance.check.interval.ms",
        30_000,
        "How often leaders are moved back to where they are preferred, and away from load.",
    ),
)
