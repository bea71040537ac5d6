"""What is claimed of any data is asked of plans as users have them: compiled, adapted while they run, of many tasks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.support.spark import session_conf

USERS_PLANS = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    # rows come in an order that differs from run to run
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.leafNodeDefaultParallelism": "2",
    "spark.sql.files.minPartitionNum": "2",
    "spark.sql.files.openCostInBytes": "1024",
}


@pytest.fixture(scope="module", autouse=True)
def users_plans(spark: SparkSession) -> Iterator[None]:
    with session_conf(spark, USERS_PLANS):
        yield
