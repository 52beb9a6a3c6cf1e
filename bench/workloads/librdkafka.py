"""What the librdkafka workloads have in common: message sizes and ways to batch."""

from dataclasses import dataclass

from bench.driver import Traffic
from bench.stand import Scale

NOT_INSTALLED = "skipped: librdkafka's header (librdkafka-dev) is not installed"
MESSAGES_MAX = 3_000_000

SIZES = {"100B": 100, "1KB": 1024, "10KB": 10 * 1024}
BATCHINGS: dict[str, tuple[str, ...]] = {
    "default": (),
    "100": ("batch.num.messages=100",),
}
_SIZE_TITLES = {"100B": "100 B", "1KB": "1 KB", "10KB": "10 KB"}
_BATCHING_TITLES = {"default": "default batching", "100": "100 a batch"}


@dataclass(frozen=True, slots=True)
class Case:
    size: str
    batching: str
    partitions: int = 1

    @property
    def name(self) -> str:
        return f"{self.size}/{self.batching}/{self.partitions}p"

    @property
    def title(self) -> str:
        spread = "" if self.partitions == 1 else f", {self.partitions} partitions"
        return f"{_SIZE_TITLES[self.size]}, {_BATCHING_TITLES[self.batching]}{spread}"

    def traffic(self, scale: Scale) -> Traffic:
        size_bytes = SIZES[self.size]
        return Traffic(
            size_bytes=size_bytes,
            count=min(scale.bytes_per_run // size_bytes, MESSAGES_MAX),
            seconds_max=scale.seconds_max,
            partitions=self.partitions,
            overrides=BATCHINGS[self.batching],
        )


def cases(scale: Scale) -> list[Case]:
    sizes = SIZES if scale.every_size else ("1KB",)
    single = [Case(size, batching) for batching in BATCHINGS for size in sizes]
    return [*single, Case("1KB", "default", partitions=8)]
