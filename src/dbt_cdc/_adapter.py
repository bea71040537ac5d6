"""One more Python submission helper, ``session``, on dbt-spark's adapter class.

dbt-spark 1.11 sends Python models to Databricks only. :func:`register` adds a helper that runs them in the Spark
session which dbt-spark's own ``session`` method uses, and steps aside where dbt-spark brings a ``session`` helper
itself. Databricks' helpers stay as they are.

Where dbt-spark is not loaded (another adapter, or dbt has not got that far), registration waits for the import of its
adapter module, so that a project on another adapter pays nothing.
"""

from __future__ import annotations

import sys
from functools import partial
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

SUBMISSION_METHOD = "session"
_ADAPTER_MODULE = "dbt.adapters.spark.impl"


def register() -> None:
    """Register now if dbt-spark's adapter is loaded, else as soon as it is."""
    module = sys.modules.get(_ADAPTER_MODULE)
    if module is not None:
        _patch(module)
    elif not any(isinstance(finder, _AfterImport) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterImport())


class _AfterImport(MetaPathFinder, Loader):
    """Lets the adapter module load as usual and patches it right after."""

    def find_spec(self, fullname: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname != _ADAPTER_MODULE:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            self._loader = spec.loader
            spec.loader = self
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        _patch(module)


def _version_beside(package: Path) -> str:
    """The version; marked where the dbt package has code of another revision. Compiled code alone can't tell."""
    import dbt_cdc

    own, other = _code(Path(__file__).parent), _code(package)
    is_same = not own or not other or own == other
    return dbt_cdc.__version__ if is_same else f"{dbt_cdc.__version__} of another revision"


def _code(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*.py")}


def _patch(module: ModuleType) -> None:
    adapter = module.SparkAdapter
    if getattr(adapter, "_dbt_cdc", False):
        return
    stock_helpers = adapter.python_submission_helpers.fget
    stock_default = adapter.default_python_submission_method.fget
    stock_response = adapter.generate_python_submission_response

    def python_submission_helpers(self: Any) -> dict[str, Any]:
        from dbt_cdc._source import Project
        from dbt_cdc._submission import SessionPythonJobHelper

        helper = partial(SessionPythonJobHelper, project=Project.of(self.config))
        return {SUBMISSION_METHOD: helper, **stock_helpers(self)}

    def default_python_submission_method(self: Any) -> str:
        method = getattr(self.config.credentials, "method", None)  # adapters that build on dbt-spark's may have none
        ours = method == "session" and SUBMISSION_METHOD not in stock_helpers(self)
        return SUBMISSION_METHOD if ours else str(stock_default(self))

    def generate_python_submission_response(self: Any, submission_result: Any) -> Any:
        from dbt_cdc._submission import Outcome

        if isinstance(submission_result, Outcome):
            return submission_result.response()
        return stock_response(self, submission_result)

    def dbt_cdc_version(self: Any) -> str:
        from dbt_cdc._source import Project

        return _version_beside(Project.of(self.config).package("dbt_cdc") / "src" / "dbt_cdc")

    def dbt_cdc_quiet(self: Any) -> None:
        from dbt_cdc._session import quiet

        quiet()

    def dbt_cdc_response(self: Any, message: str, operations: dict[str, int]) -> Any:
        from dbt_cdc._submission import Outcome

        return Outcome(message, dict(operations)).response()

    adapter.python_submission_helpers = property(python_submission_helpers)
    adapter.default_python_submission_method = property(default_python_submission_method)
    adapter.generate_python_submission_response = generate_python_submission_response
    adapter.dbt_cdc_version = dbt_cdc_version  # for macros, which tell by it that the Python side is there
    adapter.dbt_cdc_response = dbt_cdc_response  # for macros: what a SQL node did, with rows by operation
    adapter.dbt_cdc_quiet = dbt_cdc_quiet  # for macros, at the start of a run
    adapter._available_ = adapter._available_ | {"dbt_cdc_version", "dbt_cdc_response", "dbt_cdc_quiet"}
    adapter._dbt_cdc = True
