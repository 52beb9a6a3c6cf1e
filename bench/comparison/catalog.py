"""The comparisons by the names that `--only` takes, in the order they run."""

from collections.abc import Callable

from bench.comparison import celery, clusters, queues, topics
from bench.comparison.findings import Findings
from bench.stand import Stand

COMPARISONS: dict[str, Callable[[Stand], Findings]] = {
    "compare/topics/page-cache": topics.page_cache,
    "compare/topics/disk": topics.disk,
    "compare/queues": queues.compare,
    "compare/celery": celery.compare,
    "compare/cluster": clusters.compare,
}
