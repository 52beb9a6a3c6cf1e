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
        "Cluster that this node belongs to; empty for a standalone node, which needs no store.",
    ),
    setting(
        "store.address",
        "text",
        "",
        "Metadata store of the cluster: `etcd://host:port,host:port`, or `etcds://` for TLS.",
    ),
    setting(
        "store.ca", "text", "", "CA certificate that the store's certificate is verified against."
    ),
    setting("store.cert", "text", "", "Client certificate for the store."),
    setting("store.key", "text", "", "Key of that certificate."),
    setting("store.user", "text", "", "User of the store, if it requires authentication."),
    setting("store.password", "text", "", "Password of that user.", secret=True),
    setting(
        "node.roles",
        "list",
        ROLES,
        "Roles of this node: `broker` holds partitions, `frontend` answers SQS requests,"
        " `controller` may be elected to place and elect leaders.",
        form="broker, frontend, controller",
        fits=lambda role: role in ROLES,
    ),
    setting(
        "node.host",
        "text",
        "",
        "Machine of this node; replicas of a partition are placed on different machines where"
        " possible. Empty is the machine's own name.",
    ),
    setting(
        "node.disk.replaced",
        "bool",
        False,
        "Starts the node although its data directory is a new one; its replicas are copied from"
        " other nodes. Only for the first start with a new disk.",
    ),
    setting(
        "peer.listen",
        "address",
        Address("127.0.0.1", 9326),
        "Address on which the other nodes connect; without certificates, a loopback address only.",
    ),
    setting(
        "peer.advertised",
        "address",
        None,
        "Address advertised to the other nodes; empty is `peer.listen`, and port 0 is its port.",
        optional=True,
    ),
    setting(
        "peer.tls.ca",
        "text",
        "",
        "CA certificate that the other nodes' certificates are verified against.",
    ),
    setting("peer.tls.cert", "text", "", "Certificate of this node, shown to the other nodes."),
    setting("peer.tls.key", "text", "", "Key of that certificate."),
    in_ms(
        "broker.session.timeout.ms",
        2_000,
        "Lease time of this node: if it is not renewed for so long, other nodes take over its"
        " partitions. A process that has ended is noticed sooner.",
        least=1_000,
    ),
    count(
        "default.replication.factor",
        3,
        "Replicas of a topic that does not set its own number; fewer if there are fewer brokers.",
        most=100,
    ),
    in_ms(
        "replica.lag.time.max.ms",
        10_000,
        "Longest time that a replica may lag before its leader removes it from the in-sync set.",
    ),
    in_ms(
        "replica.fetch.wait.max.ms", 500, "Longest wait of a replica's fetch for records to copy."
    ),
    in_bytes(
        "replica.fetch.response.max.bytes",
        10 * MIB,
        "Limit of bytes that a replica copies with one request.",
        least=KIB,
    ),
    in_bytes(
        "replica.reassignment.bytes.per.second",
        64 * MIB,
        "Rate at which a reassignment copies records to the replicas that it adds.",
        least=KIB,
    ),
    in_ms(
        "leader.imbalance.check.interval.ms",
        30_000,
        "Interval at which leaders are moved back to their preferred nodes, and away from"
        " overloaded ones.",
    ),
)
