"""Parquet files, through pyarrow, which is an optional extra."""

from __future__ import annotations

import io

from ..columns import Table
from ..errors import InputError
from ..frames import read_frame
from .limits import check_size

BATCH = 4096  # rows unpacked at a time, before the next look at how much there is
CELL = 8  # bytes of a number


def parse_parquet(content: bytes, name: str) -> Table:
    """The columns of a Parquet file. What it unpacks to is limited (see `limits`)."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as problem:
        raise InputError(
            f"{name} is a Parquet file, which needs pyarrow: pip install 'minprobflow[parquet]', or save it as .csv"
        ) from problem
    file = parquet.ParquetFile(io.BytesIO(content))
    about = file.metadata
    packed = sum(about.row_group(group).total_byte_size for group in range(about.num_row_groups))
    check_size(max(packed, about.num_rows * about.num_columns * CELL), name)
    batches, size = [], 0
    for batch in file.iter_batches(BATCH):
        size += batch.nbytes
        check_size(size, name, f"more than {size:,} bytes")
        batches.append(batch)
    return read_frame(pyarrow.Table.from_batches(batches, file.schema_arrow), name)
