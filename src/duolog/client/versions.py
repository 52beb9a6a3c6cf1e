"""The one version of each API that this client speaks.

Every broker since Kafka 2.8 serves them, except DescribeGroups 6, which came with 4.0 and is
the first that tells a group that is not there from one that is dead.
"""

from collections.abc import Mapping
from types import MappingProxyType

from duolog.wire.kafka.apis import ApiKey

VERSIONS: Mapping[ApiKey, int] = MappingProxyType(
    {
        ApiKey.PRODUCE: 9,
        ApiKey.FETCH: 12,
        ApiKey.LIST_OFFSETS: 7,
        ApiKey.METADATA: 12,
        ApiKey.OFFSET_COMMIT: 8,
        ApiKey.OFFSET_FETCH: 8,
        ApiKey.FIND_COORDINATOR: 4,
        ApiKey.DESCRIBE_GROUPS: 6,
        ApiKey.LIST_GROUPS: 4,
        ApiKey.API_VERSIONS: 0,
        ApiKey.CREATE_TOPICS: 7,
        ApiKey.DELETE_TOPICS: 6,
        ApiKey.INIT_PRODUCER_ID: 4,
        ApiKey.OFFSET_FOR_LEADER_EPOCH: 4,
        ApiKey.DESCRIBE_CONFIGS: 4,
        ApiKey.DESCRIBE_LOG_DIRS: 2,
        ApiKey.CREATE_PARTITIONS: 3,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS: 0,
        ApiKey.OFFSET_DELETE: 0,
    }
)
