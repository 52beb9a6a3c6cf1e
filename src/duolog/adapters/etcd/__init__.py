"""MetaStore on etcd, for a cluster: an asyncio client of its HTTP/JSON gateway."""
