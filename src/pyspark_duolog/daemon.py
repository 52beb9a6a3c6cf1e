"""Spark's daemon of Python workers, with the connector already loaded.

`spark.python.daemon.module=pyspark_duolog.daemon` saves every new worker most of a second:
workers are forks of the daemon.
"""

from pyspark.daemon import manager

import pyspark_duolog

__all__ = ["pyspark_duolog"]

if __name__ == "__main__":
    manager()
