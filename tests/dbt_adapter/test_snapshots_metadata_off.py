"""The same 20 tests without operational metadata; a file of its own, so that two workers share the work."""

from __future__ import annotations

from tests.dbt_adapter.test_snapshots import *  # noqa: F403

MODE = "metadata_off"
