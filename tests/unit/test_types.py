"""Which types of a load a hash_diff table takes."""

from __future__ import annotations

import pytest
from pyspark.sql.types import DataType, IntegerType, LongType, StringType, VariantType

from dbt_cdc._types import type_faults


@pytest.mark.parametrize(
    ("table", "given", "is_taken"),
    [
        (IntegerType(), StringType(), True),  # each value is looked at
        (VariantType(), VariantType(), True),
        (VariantType(), StringType(), False),  # it would be a variant that is the text, whatever its JSON says
        (StringType(), VariantType(), False),
        (StringType(), LongType(), False),
    ],
)
def test_a_load_has_values_that_the_table_takes(table: DataType, given: DataType, is_taken: bool) -> None:
    refused = [
        f"column 'doc': the table has type {table.simpleString()}, the data has {given.simpleString()}."
        " Cast it in the model, or rebuild with --full-refresh"
    ]
    assert type_faults("doc", table, None, given) == ([] if is_taken else refused)
