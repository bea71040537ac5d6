"""What makes a run of small tables quick: options of Spark and its JVM, macros parsed once. For demo and tests."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import jinja2

#: A JVM that lives for a minute gains more from starting quickly than from compiling well.
SHORT_LIVED = (
    "-XX:TieredStopAtLevel=1 -XX:CompileThresholdScaling=3 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC -Xmn700m"
    " -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
#: Hadoop calls `chmod` and `readlink` for each small file of a commit; on Linux a JVM can start them with one `exec`.
QUICK_CALLS = "-Djdk.lang.Process.launchMechanism=VFORK" if sys.platform == "linux" else ""
#: The metastore is made anew by every demo: Derby need not wait for the disk.
NO_SYNC = "-Dderby.system.durability=test"
#: Plans of small tables cost more than their rows: they are neither compiled nor adapted while they run, and have one
#: task a stage.
SMALL_PLANS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.ui.explainMode": "simple",
}


def submit_arguments(target: str, *more: str) -> str:
    """For a JVM that does little and ends; set-up keeps its classes ready in the environment."""
    classes = f"-XX:SharedArchiveFile={Path(sys.prefix) / target}.jsa"
    plans = [f"--conf {name}={value}" for name, value in SMALL_PLANS.items()]
    return " ".join(
        [*plans, f"--driver-java-options '{' '.join([SHORT_LIVED, QUICK_CALLS, classes, *more])}'", "pyspark-shell"]
    )


def parse_macros_once() -> None:
    """dbt parses the text of its 900 macros twice for each command of other --vars: here, once for the process."""
    from dbt.clients import jinja_static

    parse, parsed = jinja2.Environment.parse, dict[tuple[type, str], jinja2.nodes.Template]()

    def parse_once(self: jinja2.Environment, source: str, *more: str | None) -> jinja2.nodes.Template:
        if (type(self), source) not in parsed:
            parsed[type(self), source] = parse(self, source, *more)
        return parsed[type(self), source]

    jinja2.Environment.parse = parse_once  # type: ignore[method-assign]
    # what parses a macro's text for the macros that it calls is made anew for each, and is the same for all
    jinja_static.get_environment = functools.cache(jinja_static.get_environment)  # type: ignore[assignment]
