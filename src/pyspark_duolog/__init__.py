"""Duolog's connector for Spark: `.format("duolog")`, in pure Python and Arrow.

Spark finds the package by its name and takes `DefaultSource`. Where it looked before the
package was there, `register(spark)` does the same. What is read, and by which task, is decided
in planning and offsets, which touch nothing outside; brokers asks on the driver, reading and
fetch_connection read in the tasks, and codec turns record batches into Arrow.
"""

from pyspark_duolog.source import DuologDataSource as DefaultSource
from pyspark_duolog.source import register

__all__ = ["DefaultSource", "register"]
