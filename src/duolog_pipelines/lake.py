"""Layout of the pipelines' data: one directory, a folder for each purpose.

<data>/pipelines/
  tables/<name>/         Delta tables, readable by anything that reads Delta
  checkpoints/<name>/    progress of each streaming query; Spark's own
  exports/<name>/        files for other systems, such as bills
  state/<name>.json      state of each pipeline's last run
  locks/<name>           held while a pipeline runs
  spark/                 scratch space, the warehouse, and the log of Spark itself
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from duolog.config.pipelines import PIPELINES_FOLDER
from duolog.model.pipeline_state import STATES_FOLDER

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.compute import Expression

Row = dict[str, Any]


@dataclass(frozen=True)
class Lake:
    root: Path

    @classmethod
    def within(cls, data: Path) -> "Lake":
        """The lake inside a data directory, if no other place is configured."""
        return cls(data.absolute() / PIPELINES_FOLDER)

    def table(self, name: str) -> Path:
        return self.root / "tables" / name

    def checkpoint(self, name: str) -> Path:
        return self.root / "checkpoints" / name

    def exports(self, name: str) -> Path:
        return self.root / "exports" / name

    @property
    def states(self) -> Path:
        return self.root / STATES_FOLDER

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
        """Rows of a small table, read without Spark; none if it does not exist yet."""
        found = self.arrow(table, where, columns)
        rows: list[Row] = [] if found is None else found.to_pylist()
        return rows

    def arrow(
        self,
        table: str,
        where: "Expression | None" = None,
        columns: Sequence[str] | None = None,
    ) -> "pa.Table | None":
        """The selected part of a table, read without Spark; None if it does not exist yet."""
        from deltalake import DeltaTable

        if not DeltaTable.is_deltatable(str(self.table(table))):
            return None
        dataset = DeltaTable(self.table(table)).to_pyarrow_dataset()
        return dataset.to_table(columns=None if columns is None else list(columns), filter=where)
