"""Errors of Spark, which are pages long."""

import pytest
from pyspark.errors import PySparkException

from duolog_pipelines.errors import PipelineError, Unreachable
from duolog_pipelines.spark_errors import explained

PAGES = """[STREAM_FAILED] Query [id = 1] terminated with exception: something
Traceback (most recent call last):
  File "reading.py", line 1, in read
    raise it
{raised}

\tat org.apache.spark.Somewhere(Somewhere.scala:1)
"""


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        (
            PAGES.format(raised="pyspark_duolog.errors.InvalidOffsets: there is no topic 'x'"),
            PipelineError,
            "There is no topic 'x'.",
        ),
        (
            PAGES.format(raised="pyspark_duolog.errors.BrokerAway: node 1 is away"),
            Unreachable,
            "Node 1 is away. Check that a node serves there.",
        ),
        (
            PAGES.format(raised="OSError: no space left"),
            PipelineError,
            "Spark failed: OSError: no space left",
        ),
        (
            "[TABLE_GONE] It is gone.\n\tat x",
            PipelineError,
            "Spark failed: [TABLE_GONE] It is gone.",
        ),
    ],
)
def test_a_person_is_told_the_reason_in_one_line(
    text: str, kind: type[PipelineError], said: str
) -> None:
    error = explained(PySparkException(text))
    assert (type(error), str(error)) == (kind, said)
