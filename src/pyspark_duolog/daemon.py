"""Spark's daemon of Python workers, with the connector already loaded.

`spark.python.daemon.module=pyspark_duolog.daemon` saves every new worker most of a second: workers
are forks of the daemon. Objects loaded by then are exempt from garbage collection, which every
worker runs after every task.
"""

import gc

from pyspark.daemon import manager

from pyspark_duolog.sink import writers
from pyspark_duolog.source import batch_reader, stream_reader

__all__ = ["batch_reader", "stream_reader", "writers"]

if __name__ == "__main__":
    gc.freeze()
    manager()
