"""What Python models give as the ends of a range of changes."""

from __future__ import annotations

import time
from datetime import date, datetime, timedelta, timezone
from typing import Any

import pandas as pd
import pytest

from dbt_cdc.changes import _bound


@pytest.fixture
def process_in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Any:
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        (datetime(2024, 1, 2, 9, 30, 0, 5), "2024-01-02T09:30:00.000005+09:00"),
        (datetime(2024, 1, 2, 9, 30, tzinfo=timezone(-timedelta(hours=5))), "2024-01-02T09:30:00-05:00"),
        (pd.Timestamp(2024, 1, 2, 9, 30), "2024-01-02T09:30:00"),
        (date(2024, 1, 2), "2024-01-02"),
        ("2024-01-02 09:30", "2024-01-02 09:30"),
        (7, 7),
        (None, None),
    ],
    ids=["a datetime", "one with a zone", "of pandas", "a date", "a text", "a version", "nothing"],
)
@pytest.mark.usefixtures("process_in_tokyo")
def test_a_datetime_without_a_zone_is_in_that_of_the_process_as_collect_gives_it(given: Any, asked: Any) -> None:
    assert _bound(given) == asked
