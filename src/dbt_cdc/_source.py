"""A Python model's own file: compiles it under its own name and says where in it an error arose."""

from __future__ import annotations

import linecache
import re
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

from dbt_common.exceptions import DbtRuntimeError

#: What follows Spark's own message: the plan, the Java stack.
_AFTER_MESSAGE = re.compile(r"(?<=SQLSTATE: \w{5})\b.*|\s*JVM stacktrace:.*|\n\s+at [\w.$]+\(.*", re.DOTALL)
#: The errors of a Java stack: ": java.lang.IllegalStateException: message", then "Caused by: …".
_JAVA_CAUSE = re.compile(r"^(?:Caused by)?: (?:[\w$]+\.)*([\w$]+): (.*?)(?=\n\s+at |\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Project:
    """Where the project's files lie; dbt need not run in its folder."""

    root: Path
    packages: str
    name: str

    @classmethod
    def of(cls, config: Any) -> Project:
        """The project of dbt's runtime config."""
        return cls(Path(config.project_root), config.packages_install_path, config.project_name)

    def package(self, name: str) -> Path:
        """The folder of an installed package."""
        return self.root / self.packages / name

    def path_of(self, parsed_model: dict[str, Any]) -> str:
        """The model's file as seen from the project's folder."""
        own, package = Path(parsed_model["original_file_path"]), parsed_model.get("package_name")
        installed = Path(self.packages) / str(package) / own
        return (own if package == self.name or not (self.root / installed).is_file() else installed).as_posix()


class ModelSource:
    """The code that a user wrote, as lines of the file that it stands in."""

    def __init__(self, parsed_model: dict[str, Any], project: Project) -> None:
        self.code: str = parsed_model["raw_code"]
        self.path = project.path_of(parsed_model)
        self._first_line = _lines_before(project.root / self.path, self.code)
        self.lines = [""] * self._first_line + self.code.splitlines()

    def compile(self) -> CodeType:
        """The user's code; tracebacks and Spark's own error contexts name its file and lines."""
        text = "\n" * self._first_line + self.code
        linecache.cache[self.path] = (len(text), None, [f"{line}\n" for line in self.lines], self.path)
        return compile(text, self.path, "exec", dont_inherit=True)  # of this module's future statements

    def error(
        self, problem: BaseException, doing: str, refused: Callable[[BaseException], list[tuple[int, str]]]
    ) -> DbtRuntimeError:
        """`problem` with the model's lines that it came through; `doing`: what went on outside of them, or nothing.

        `refused` gives the lines where the problem does not tell them.
        """
        places = self._places(problem) or [self._place(*where) for where in refused(problem)]
        message, root = _message(problem), _message(_root(problem))
        if type(problem).__module__.startswith(("pyspark.", "py4j.")):
            message = root  # what wraps it says no more than 'job aborted'
        elif root not in message:
            message = f"{message}\n  caused by {root}"
        headline = f"{doing}: {message}" if doing and not places else message
        return DbtRuntimeError("\n".join([headline, *places]))

    def _places(self, problem: BaseException) -> list[str]:
        """The model's lines on the way to the error: by its traceback, else where Spark says the column comes from."""
        frames = [
            (line, frame.f_code.co_name)
            for frame, line in traceback.walk_tb(problem.__traceback__)
            if frame.f_code.co_filename == self.path
        ]
        named = re.escape(self.path)
        for pattern in (rf'File "{named}", line (\d+), in (\S+)', rf"(?m)^{named}:(\d+)()$"):
            for said in (_root(problem), problem):
                frames = frames or [(int(line), name) for line, name in re.findall(pattern, str(said))]
        return [self._place(line, name) for line, name in dict.fromkeys(frames)]

    def _place(self, line: int, name: str) -> str:
        where = f'  File "{self.path}", line {line}'
        function = f", in {name}" if name else ""
        source = self.lines[line - 1].strip() if line <= len(self.lines) else ""
        return f"{where}{function}\n    {source}".rstrip()


def _lines_before(path: Path, code: str) -> int:
    """How many lines of the file come before the code: dbt strips blank lines at the start."""
    try:
        text = path.read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        return 0
    before, found, _ = text.partition(code)
    return before.count("\n") if found else 0


def _root(problem: BaseException) -> BaseException:
    """What went wrong first: Spark wraps a row's error in 'job aborted', 'task failed while writing'."""
    seen = {id(problem)}  # an error may be raised from itself
    while isinstance(cause := getattr(problem, "_cause", None) or problem.__cause__, Exception):
        if id(cause) in seen:
            break
        seen.add(id(cause))
        problem = cause
    return problem


def _message(problem: BaseException) -> str:
    """Kind and message, without plans and Java stacks."""
    if isinstance(problem, DbtRuntimeError):
        return str(problem.msg)
    kind, text = type(problem).__name__, str(problem)
    if kind == "Py4JJavaError" and (causes := _JAVA_CAUSE.findall(text)):
        kind, text = causes[-1]
    return f"{kind}: {_AFTER_MESSAGE.sub('', text).strip()}"
