"""Log of one partition: segments of record batches on a Disk.

Synchronous, and driven by one owner: no threads, no clock, no logging. `log.Log` is the entry
point; recovery, reading, retention and compaction are modules of their own behind it.
"""
