"""Where a Python model's file lies, and what upstream it means."""

from __future__ import annotations

from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any

import pytest
from dbt_common.events.contextvars import log_contextvars
from dbt_common.exceptions import DbtRuntimeError

from dbt_cdc._macros import table_of, upstream_of
from dbt_cdc._made_frames import MadeFrames
from dbt_cdc._source import Project


def test_a_models_file_is_that_of_its_package(tmp_path: Path) -> None:
    project = Project(tmp_path, "dbt_packages", "shop")
    for folder in ("models", "dbt_packages/crm/models"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "orders.py").touch()
    paths = {
        package: project.path_of({"original_file_path": "models/orders.py", "package_name": package})
        for package in ("shop", "crm", "local")
    }
    assert paths == {
        "shop": "models/orders.py",
        "crm": "dbt_packages/crm/models/orders.py",
        "local": "models/orders.py",  # a package that lies elsewhere
    }


def compiled(refs: dict[tuple[str, ...], str], sources: dict[tuple[str, ...], str]) -> Any:
    """An object like the one that dbt passes to a model, with the functions that it generates."""

    def ref(*args: str, dbt_load_df_function: Any) -> Any:
        return dbt_load_df_function(refs[args])

    def source(*args: str, dbt_load_df_function: Any) -> Any:
        return dbt_load_df_function(sources[args])

    return SimpleNamespace(ref=FunctionType(ref.__code__, {"ref": ref, "source": source}, closure=ref.__closure__))


def test_an_upstream_is_a_model_or_a_source_and_never_either() -> None:
    name = ("shop", "orders")
    with log_contextvars(node_info={"unique_id": "model.shop.reader"}):
        assert upstream_of(compiled({name: "own.orders"}, {}), name, None, "ref_changes") == "own.orders"
        assert upstream_of(compiled({}, {name: "raw.orders"}), name, None, "ref_changes") == "raw.orders"
        with pytest.raises(
            DbtRuntimeError, match=r"is both a model in a package and a source \(own.orders, raw.orders\)"
        ):
            upstream_of(compiled({name: "own.orders"}, {name: "raw.orders"}), name, None, "ref_changes")
        with pytest.raises(DbtRuntimeError, match="but dbt knows no such upstream of it"):
            upstream_of(compiled({}, {}), name, None, "ref_changes")


def test_a_frame_that_fails_for_another_reason_is_not_the_one_that_spark_refuses() -> None:
    from pyspark.errors import AnalysisException, UnknownException

    def frame_that(error: Exception) -> Any:
        def analysed() -> None:
            raise error

        return SimpleNamespace(isLocal=analysed)

    refused = AnalysisException("[UNRESOLVED_COLUMN] nam\nwith this plan")
    frames = MadeFrames("model.py")
    frames._made.append((frame_that(UnknownException("[UNRESOLVED_COLUMN] nam")), 3, "model"))
    frames._made.append((frame_that(AnalysisException("[TABLE_NOT_FOUND] t")), 4, "model"))
    frames._made.append((frame_that(AnalysisException("[UNRESOLVED_COLUMN] nam\nwith another")), 5, "model"))
    assert frames.refused(refused) == [(5, "model")]


def test_the_table_of_a_part_is_the_whole_one() -> None:
    assert table_of("(select * from raw.orders where false limit 0)") == "raw.orders"
    assert table_of("(select * from raw.orders where at >= '2024-01-01') _dbt_sample") == "raw.orders"
    assert table_of("raw.orders") == "raw.orders"
