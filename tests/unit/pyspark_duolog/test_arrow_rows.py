import pyarrow as pa

from pyspark_duolog.arrow_rows import Place, arrow_schema
from pyspark_duolog.codec.decode import RECORD_TYPES
from pyspark_duolog.columns import full_schema


def test_all_rows_get_the_columns_of_their_place_however_many_they_are() -> None:
    schema = arrow_schema(full_schema(include_headers=False))
    place = Place(schema, "orders", 3)
    for count in (2, 5, 1, 0):
        names = [name for name in RECORD_TYPES if name in schema.names]
        decoded = pa.RecordBatch.from_arrays(
            [pa.nulls(count, RECORD_TYPES[name]) for name in names], names
        )
        completed = place.complete(decoded)
        assert completed.schema == schema
        assert completed["topic"].to_pylist() == ["orders"] * count
        assert completed["partition"].to_pylist() == [3] * count
