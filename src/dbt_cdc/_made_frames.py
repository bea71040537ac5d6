"""Which line of a model made a frame that Spark refuses, where frames are analysed only when they are used.

Classic Spark analyses a frame when it is made, so that a traceback names the model's line. Over Spark Connect the error
comes when the frame is used, and it seldom says where the frame came from.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # pragma: no cover
    from pyspark.sql import SparkSession

#: `frames`: where this thread's model keeps the frames that it makes.
_of_thread = threading.local()


class MadeFrames:
    """The Spark Connect frames that a model's code made, each with the line and the function that made it."""

    def __init__(self, path: str) -> None:
        self._path = path
        # the last ones: what is kept is kept by the server, too, and in the end each may be asked about
        self._made: deque[tuple[Any, int, str]] = deque(maxlen=200)

    def add(self, made: Any) -> None:
        """Keep a frame with the model's line that is being run, if it is one."""
        if self._made and self._made[-1][0] is made:  # pyspark 4.1 initialises a frame twice
            return
        caller: FrameType | None = sys._getframe(1)
        while caller is not None and caller.f_code.co_filename != self._path:
            caller = caller.f_back
        if caller is not None:
            self._made.append((made, caller.f_lineno, caller.f_code.co_name))

    def refused(self, problem: BaseException) -> list[tuple[int, str]]:
        """Line and function of the first frame that can't be analysed for this very reason, if there is one."""
        from pyspark.errors import AnalysisException

        for frame, line, function in self._made if isinstance(problem, AnalysisException) else ():
            try:
                frame.isLocal()  # the server analyses the frame, and runs nothing
            except Exception as error:  # pyspark has no class for what a driver or a data source says
                if isinstance(error, AnalysisException) and _headline(error) == _headline(problem):
                    return [(line, function)]
        return []


def _headline(error: BaseException) -> str:
    """Spark's message without the plan."""
    return str(error).partition("\n")[0]


@contextmanager
def watched(spark: SparkSession, path: str) -> Iterator[MadeFrames]:
    """Keep the frames that the code in `path` makes in this thread, if the session is one of Spark Connect."""
    frames = MadeFrames(path)
    if type(spark).__module__.startswith("pyspark.sql.connect."):
        _watch()
        _of_thread.frames = frames
    try:
        yield frames
    finally:
        _of_thread.frames = None


@functools.cache
def _watch() -> None:
    """Have pyspark's Connect frames say when they are made; where no model is watched, nothing comes of it."""
    from pyspark.sql.connect.dataframe import DataFrame

    stock = DataFrame.__init__

    @functools.wraps(stock)
    def initialise(self: Any, *args: Any, **kwargs: Any) -> None:
        stock(self, *args, **kwargs)
        frames = getattr(_of_thread, "frames", None)
        if frames is not None:
            frames.add(self)

    DataFrame.__init__ = initialise  # type: ignore[method-assign]
