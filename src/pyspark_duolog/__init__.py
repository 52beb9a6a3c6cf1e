"""Duolog's connector for Spark: `.format("duolog")`, in Python and Arrow.

Spark finds the package by its name and takes `DefaultSource`. Where it looked before the
package was there, `register(spark)` does the same. source reads topics, queues looks at the
messages of a queue, sink writes, and codec turns record batches into Arrow and back.
"""

from pyspark_duolog.data_source import DuologDataSource as DefaultSource
from pyspark_duolog.data_source import register

__all__ = ["DefaultSource", "register"]
