"""Where pipelines keep what they make: one directory, a folder for each purpose.

<data>/pipelines/
  tables/<name>/         Delta tables, readable by anything that reads Delta
  checkpoints/<name>/    how far each streaming query came; Spark's own
  exports/<name>/        what leaves the system, such as bills
  state/<name>.json      how the last run of each pipeline went
  locks/<name>           held while a pipeline runs
  spark/                 scratch space, the warehouse, and the log of Spark itself
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyarrow.compute import Expression

FOLDER = "pipelines"
"""Within the data directory."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Lake:
    root: Path

    @classmethod
    def within(cls, data: Path) -> "Lake":
        return cls(data.absolute() / FOLDER)

    def table(self, name: str) -> Path:
        return self.root / "tables" / name

    def checkpoint(self, name: str) -> Path:
        return self.root / "checkpoints" / name

    def exports(self, name: str) -> Path:
        return self.root / "exports" / name

    @property
    def states(self) -> Path:
        return self.root / "state"

    @property
    def locks(self) -> Path:
        return self.root / "locks"

    @property
    def spark(self) -> Path:
        return self.root / "spark"

    def rows(
        self,
        table: str,
        columns: Sequence[str] | None = None,
        where: "Expression | None" = None,
    ) -> list[Row]:
        """A small table, without Spark; nothing where there is none yet."""
        from deltalake import DeltaTable

        if not DeltaTable.is_deltatable(str(self.table(table))):
            return []
        dataset = DeltaTable(self.table(table)).to_pyarrow_dataset()
        rows: list[Row] = dataset.to_table(
            columns=None if columns is None else list(columns), filter=where
        ).to_pylist()
        return rows
