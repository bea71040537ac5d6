"""dbt's adapter tests for snapshots (dbt-tests-adapter 1.20), all 20, on Spark, with operational metadata."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from dbt.tests.adapter.basic.test_snapshot_check_cols import BaseSnapshotCheckCols
from dbt.tests.adapter.basic.test_snapshot_timestamp import BaseSnapshotTimestamp
from dbt.tests.adapter.simple_snapshot import test_ephemeral_snapshot_hard_deletes as ephemeral
from dbt.tests.adapter.simple_snapshot import test_snapshot as simple
from dbt.tests.adapter.simple_snapshot import test_various_configs as configs
from dbt.tests.adapter.simple_snapshot.new_record_check_mode import BaseSnapshotNewRecordCheckMode
from dbt.tests.adapter.simple_snapshot.new_record_dbt_valid_to_current import BaseSnapshotNewRecordDbtValidToCurrent
from dbt.tests.adapter.simple_snapshot.new_record_timestamp_mode import BaseSnapshotNewRecordTimestampMode

MODE = "metadata_on"

#: dbt-tests-adapter 1.20 is written for an older pytest
OLDER = pytest.mark.filterwarnings("ignore:Class-scoped fixtures defined as instance methods")
pytestmark = [OLDER, pytest.mark.one_format("iceberg")]


class Exact:
    """Upstream's helper takes any subset of the expected records; here they must be all, each once."""

    def _assert_results(
        self,
        ids_with_current_snapshot_records: Iterable[int],
        ids_with_closed_out_snapshot_records: Iterable[int],
    ) -> None:
        records = self.get_snapshot_records("id, dbt_valid_to is null as is_current")  # type: ignore[attr-defined]
        expected = [(i, True) for i in ids_with_current_snapshot_records]
        expected += [(i, False) for i in ids_with_closed_out_snapshot_records]
        assert sorted(records) == sorted(expected)
        scd_ids = self.get_snapshot_records("count(distinct dbt_scd_id)")  # type: ignore[attr-defined]
        assert scd_ids == [(len(expected),)]


class LeftInTheWarehouse:
    """Upstream drops the schema with `cascade`, which not every catalog knows; it goes with the warehouse of the run."""

    @pytest.fixture(autouse=True)
    def clean_up(self) -> None:
        pass


class TestSnapshotCheckCols(LeftInTheWarehouse, BaseSnapshotCheckCols):
    pass


class TestSnapshotTimestamp(LeftInTheWarehouse, BaseSnapshotTimestamp):
    pass


class TestSnapshot(Exact, simple.BaseSimpleSnapshot):
    pass


class TestSnapshotCheck(Exact, simple.BaseSnapshotCheck):
    pass


class TestSnapshotColumnNames(configs.BaseSnapshotColumnNames):
    pass


class TestSnapshotColumnNamesFromDbtProject(configs.BaseSnapshotColumnNamesFromDbtProject):
    pass


class TestSnapshotInvalidColumnNames(configs.BaseSnapshotInvalidColumnNames):
    pass


class TestSnapshotDbtValidToCurrent(configs.BaseSnapshotDbtValidToCurrent):
    pass


class TestSnapshotMultiUniqueKey(configs.BaseSnapshotMultiUniqueKey):
    pass


class LastKnownValues:
    """The record of a deletion carries the row's last values, which upstream does not look at."""

    @pytest.fixture(autouse=True)
    def deletion_records_carry_values(self, project):  # type: ignore[no-untyped-def]
        yield
        empty = "select * from {schema}.snapshot_actual where id is null or first_name is null"
        assert project.run_sql(empty, fetch="all") == []


class TestSnapshotNewRecordTimestampMode(LastKnownValues, BaseSnapshotNewRecordTimestampMode):
    pass


class TestSnapshotNewRecordCheckMode(LastKnownValues, BaseSnapshotNewRecordCheckMode):
    pass


class TestSnapshotNewRecordDbtValidToCurrent(LastKnownValues, BaseSnapshotNewRecordDbtValidToCurrent):
    pass


class TestSnapshotEphemeralHardDeletes(ephemeral.BaseSnapshotEphemeralHardDeletes):
    pass


class TestSnapshotNewColumnTimestampStrategy(ephemeral.BaseSnapshotNewColumnTimestampStrategy):
    pass


class TestSnapshotNewColumnSpecificCheckCols(ephemeral.BaseSnapshotNewColumnSpecificCheckCols):
    pass


class TestSnapshotNewColumnWithDeletes(ephemeral.BaseSnapshotNewColumnWithDeletes):
    pass
