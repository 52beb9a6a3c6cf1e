"""Kafka v2 record batches: header view, builder, iterator, checksum, compression."""
