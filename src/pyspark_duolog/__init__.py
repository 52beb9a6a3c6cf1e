"""Duolog's connector for Spark: `.format("duolog")`, in Python and Arrow.

Spark finds the package by its name and takes `DefaultSource`. A session that started before the
package was installed needs `register(spark)`. source reads topics, queues looks at the messages of
a queue, sink writes, and codec converts between record batches and Arrow.
"""

from pyspark_duolog.data_source import DuologDataSource as DefaultSource
from pyspark_duolog.data_source import register

__all__ = ["DefaultSource", "register"]
