"""The Spark session that Python models run in: the one that dbt-spark's own ``session`` method uses."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dbt_common.exceptions import DbtRuntimeError


def get_session(settings: Mapping[str, Any], packages: str) -> Any:
    """The session of this process, or a new one with `settings`.

    Built like dbt-spark builds its own, so that SQL and Python models of a ``session`` profile share one: an embedded
    local Spark by default, a cluster by ``spark.master``, a remote Spark by the environment variable SPARK_REMOTE.

    Raises DbtRuntimeError with the command to run if pyspark, or what it needs for Spark Connect, is not installed;
    `packages` is the folder of dbt's packages.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise _missing("pyspark", packages, "spark", error) from error
    quiet()
    builder = SparkSession.builder.enableHiveSupport()
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except ImportError as error:
        raise _missing("what pyspark needs for Spark Connect", packages, "connect", error) from error
    except Exception as error:
        said = str(error)
        for secret in os.environ.get("SPARK_REMOTE", "").split(";")[1:]:
            said = said.replace(secret, "…") if secret else said
        raise DbtRuntimeError(f"dbt_cdc: no Spark session for Python models{_remote()}: {said}") from None


def quiet() -> None:
    """Let pyspark not print each statement that fails, Java stack and all: what matters of it is in dbt's own error.

    A table that is asked for and not there yet is no error at all.
    """
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _missing(what: str, packages: str, extra: str, error: ImportError) -> DbtRuntimeError:
    folder = packages if Path(packages).is_absolute() else f"./{packages}"
    return DbtRuntimeError(
        f"dbt_cdc: Python models with submission_method: session need {what}, which is not installed"
        f" ({error}).\nInstall it with:\n  pip install '{folder}/dbt_cdc[{extra}]'"
    )


def _remote() -> str:
    """Where SPARK_REMOTE points to; what follows ';' may hold a token and stays out of messages."""
    url = os.environ.get("SPARK_REMOTE")
    return f" at SPARK_REMOTE={url.partition(';')[0]}" if url else ""
