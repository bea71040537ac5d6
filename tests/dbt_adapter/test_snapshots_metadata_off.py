"""The same 20 tests without operational metadata."""

from __future__ import annotations

import pytest

from tests.dbt_adapter.test_snapshots import *  # noqa: F403
from tests.dbt_adapter.test_snapshots import OLDER

MODE = "metadata_off"
pytestmark = [OLDER, pytest.mark.one_format("iceberg"), pytest.mark.long]
