"""One valid request of every served API, with the fields of all its versions."""

from typing import Any

from tests.harness.wire import batch_of, fetch_fields, produce_fields

from duolog.wire.kafka.apis import ApiKey

TOPIC = "requested"
GROUP = "requesters"

_MEMBER = {
    "group_id": GROUP,
    "generation_id": 1,
    "member_id": "",
    "group_instance_id": None,
}
_OFFSET = {
    "partition_index": 0,
    "committed_offset": 3,
    "committed_leader_epoch": -1,
    "committed_metadata": "note",
}
_RESOURCE = {"resource_type": 2, "resource_name": TOPIC}
_CONFIG = {"name": "retention.ms", "value": "604800000"}

REQUESTS: dict[ApiKey, dict[str, Any]] = {
    ApiKey.PRODUCE: produce_fields(TOPIC, 0, bytes(batch_of([b"a", b"b"]))),
    ApiKey.FETCH: fetch_fields(TOPIC, 0, 0, wait_ms_max=50),
    ApiKey.LIST_OFFSETS: {
        "replica_id": -1,
        "isolation_level": 0,
        "topics": [
            {
                "name": TOPIC,
                "partitions": [{"partition_index": 0, "current_leader_epoch": -1, "timestamp": -1}],
            }
        ],
    },
    ApiKey.METADATA: {"topics": [{"name": TOPIC}], "allow_auto_topic_creation": False},
    ApiKey.OFFSET_COMMIT: {
        "group_id": GROUP,
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "group_instance_id": None,
        "topics": [{"name": TOPIC, "partitions": [_OFFSET]}],
    },
    ApiKey.OFFSET_FETCH: {
        "group_id": GROUP,
        "topics": [{"name": TOPIC, "partition_indexes": [0]}],
        "groups": [
            {
                "group_id": GROUP,
                "member_id": None,
                "member_epoch": -1,
                "topics": [{"name": TOPIC, "partition_indexes": [0]}],
            }
        ],
    },
    ApiKey.FIND_COORDINATOR: {"key": GROUP, "key_type": 0, "coordinator_keys": [GROUP]},
    ApiKey.JOIN_GROUP: {
        "group_id": GROUP,
        "member_id": "",
        "group_instance_id": None,
        "session_timeout": 6_000,
        "rebalance_timeout": 6_000,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b"\x00\x01\x00\x00\x00\x00"}],
    },
    ApiKey.HEARTBEAT: _MEMBER,
    ApiKey.LEAVE_GROUP: {
        "group_id": GROUP,
        "member_id": "m",
        "members": [{"member_id": "m", "group_instance_id": None}],
    },
    ApiKey.SYNC_GROUP: {**_MEMBER, "assignments": [{"member_id": "m", "assignment": b"x"}]},
    ApiKey.DESCRIBE_GROUPS: {"groups": [GROUP]},
    ApiKey.LIST_GROUPS: {"states_filter": [], "types_filter": []},
    ApiKey.API_VERSIONS: {"client_software_name": "test", "client_software_version": "1"},
    ApiKey.CREATE_TOPICS: {
        "topics": [
            {
                "name": "requested-new",
                "num_partitions": 1,
                "replication_factor": 1,
                "assignments": [],
                "configs": [_CONFIG],
            }
        ],
        "timeout": 1_000,
        "validate_only": True,
    },
    ApiKey.DELETE_TOPICS: {
        "topics": [{"name": "requested-gone", "topic_id": None}],
        "topic_names": ["requested-gone"],
        "timeout": 1_000,
    },
    ApiKey.DELETE_RECORDS: {
        "topics": [{"name": TOPIC, "partitions": [{"partition_index": 0, "offset": 0}]}],
        "timeout": 1_000,
    },
    ApiKey.INIT_PRODUCER_ID: {
        "transactional_id": None,
        "transaction_timeout": 1_000,
        "producer_id": -1,
        "producer_epoch": -1,
    },
    ApiKey.OFFSET_FOR_LEADER_EPOCH: {
        "replica_id": -1,
        "topics": [
            {
                "topic": TOPIC,
                "partitions": [{"partition": 0, "current_leader_epoch": -1, "leader_epoch": 0}],
            }
        ],
    },
    ApiKey.DESCRIBE_CONFIGS: {
        "resources": [{**_RESOURCE, "configuration_keys": None}],
        "include_synonyms": True,
    },
    ApiKey.ALTER_CONFIGS: {
        "resources": [{**_RESOURCE, "configs": [_CONFIG]}],
        "validate_only": False,
    },
    ApiKey.DESCRIBE_LOG_DIRS: {"topics": None},
    ApiKey.CREATE_PARTITIONS: {
        "topics": [{"name": TOPIC, "count": 2, "assignments": None}],
        "timeout": 1_000,
        "validate_only": True,
    },
    ApiKey.DELETE_GROUPS: {"groups_names": [GROUP]},
    ApiKey.ELECT_LEADERS: {
        "election_type": 0,
        "topic_partitions": [{"topic": TOPIC, "partitions": [0]}],
        "timeout": 1_000,
    },
    ApiKey.INCREMENTAL_ALTER_CONFIGS: {
        "resources": [{**_RESOURCE, "configs": [{**_CONFIG, "config_operation": 0}]}],
        "validate_only": False,
    },
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: {
        "timeout": 1_000,
        "allow_replication_factor_change": True,
        "topics": [
            {"name": TOPIC, "partitions": [{"partition_index": 0, "replicas": None}]},
        ],
    },
    ApiKey.LIST_PARTITION_REASSIGNMENTS: {
        "timeout": 1_000,
        "topics": [{"name": TOPIC, "partition_indexes": [0]}],
    },
    ApiKey.OFFSET_DELETE: {
        "group_id": GROUP,
        "topics": [{"name": TOPIC, "partitions": [{"partition_index": 0}]}],
    },
    ApiKey.DESCRIBE_CLUSTER: {"endpoint_type": 1},
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: {
        "topics": [{"name": TOPIC}],
        "response_partition_limit": 10,
        "cursor": None,
    },
}
