"""The modules in C, which are built where there is a compiler when Duolog is installed.

Without one of them its Python counterpart does the same, in more time.
"""

from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path

NODE_MODULES = (
    "duolog.adapters._arenas",
    "duolog.core.queues._plain_records",
    "duolog.wire.sqs._md5",
    "duolog.wire.sqs._rows",
    "duolog.wire.sqs._texts",
)
"""C modules that a node uses."""
SPARK_MODULES = ("pyspark_duolog.codec._records", "pyspark_duolog.codec._plain")
"""C modules of the Spark connector, which depends on this package and not the reverse."""


def missing(modules: Sequence[str]) -> list[str]:
    """Names of the modules that were not built, in the same order."""
    return [name for name in modules if not _is_built(name)]


def _is_built(name: str) -> bool:
    """Look for the file only: importing its package may need what is not installed."""
    package, *parts = name.split(".")
    spec = find_spec(package)
    places = () if spec is None else spec.submodule_search_locations or ()
    return any(
        Path(place, *parts).with_suffix(suffix).exists()
        for place in places
        for suffix in EXTENSION_SUFFIXES
    )
