"""Invoices on disk: a folder for each month, made whole or not at all.

exports/billing/2026-10/           closed, never touched again
  invoices.json                    offsets, prices, what each tenant owes
  charges.parquet, charges.csv     FOCUS
exports/billing/draft-2026-11/     replaced by every run
"""

import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pyarrow.parquet as pq

from duolog_pipelines.billing.closing import Closed
from duolog_pipelines.billing.focus import Invoiced, Row, csv_text, focus_rows, focus_table
from duolog_pipelines.billing.period import Period
from duolog_pipelines.billing.pricing import Charge
from duolog_pipelines.errors import NotAllowed, PipelineError
from duolog_pipelines.state import replace_file

_RECORD = "invoices.json"
_CSV = "charges.csv"
_PARQUET = "charges.parquet"
_DRAFT = "draft-"


class Invoices:
    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def closed(self) -> list[Closed]:
        """Records of the closed months, in their order."""
        if not self._directory.is_dir():
            return []
        records = [self._read(path) for path in self._directory.glob(f"[0-9]*/{_RECORD}")]
        return sorted(records, key=lambda record: record.month)

    def drafts(self) -> list[Closed]:
        if not self._directory.is_dir():
            return []
        records = [self._read(path) for path in self._directory.glob(f"{_DRAFT}*/{_RECORD}")]
        return sorted(records, key=lambda record: record.month)

    def close(self, record: Closed, charges: Sequence[Charge]) -> None:
        """Write the invoices of a closed month. NotAllowed if it has invoices already."""
        folder = self._directory / record.period
        if folder.exists():
            raise NotAllowed(f"{record.period} is closed already. Its invoices are in {folder}.")
        self._write(folder, record, charges)
        self._drop(self._directory / f"{_DRAFT}{record.period}")

    def draft(self, record: Closed, charges: Sequence[Charge]) -> None:
        folder = self._directory / f"{_DRAFT}{record.period}"
        self._drop(folder)
        self._write(folder, record, charges)

    def csv_of(self, period: Period) -> str:
        return (self._directory / str(period) / _CSV).read_bytes().decode()

    def charges_of(self, record: Closed) -> list[Row]:
        """The month's charges, or those of its draft."""
        for name in (record.period, f"{_DRAFT}{record.period}"):
            file = self._directory / name / _PARQUET
            if file.exists():
                rows: list[Row] = pq.read_table(file).to_pylist()
                return rows
        return []

    def _write(self, folder: Path, record: Closed, charges: Sequence[Charge]) -> None:
        staged = folder.with_name(f".{folder.name}.tmp")
        self._drop(staged)
        staged.mkdir(parents=True)
        invoiced = Invoiced(record.month, record.currency)
        replace_file(staged / _CSV, csv_text(focus_rows(charges, invoiced)).encode())
        pq.write_table(focus_table(charges, invoiced), staged / _PARQUET)
        replace_file(staged / _RECORD, msgspec.json.format(msgspec.json.encode(record)))
        _sync(staged / _PARQUET)
        staged.rename(folder)
        _sync(self._directory)

    def _read(self, path: Path) -> Closed:
        try:
            return msgspec.json.decode(path.read_bytes(), type=Closed)
        except msgspec.MsgspecError:
            raise PipelineError(
                f"{path} holds no invoices. Restore it from a copy: later invoices build"
                " on its offsets."
            ) from None

    def _drop(self, folder: Path) -> None:
        if folder.exists():
            shutil.rmtree(folder)


def digest(charges: Sequence[Charge], invoiced: Invoiced) -> str:
    return hashlib.sha256(csv_text(focus_rows(charges, invoiced)).encode()).hexdigest()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
