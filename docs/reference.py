"""Makes docs/reference.md from the macros' YAML and the docstrings of what the Python side exports.

python docs/reference.py
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import yaml

import dbt_cdc

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "reference.md"
# what has a page of its own
PAGES = re.compile("materialization_|default__|spark__")


def macro_call(name: str) -> str:
    """A macro's arguments with their defaults, from the file that has its name."""
    (file,) = (ROOT / "macros").rglob(f"{name}.sql")
    found = re.search(rf"macro {name}\((.*?)\)\s*-?%}}", file.read_text(), re.DOTALL)
    assert found
    return " ".join(found[1].split())


def macro_section(macro: dict[str, object]) -> list[str]:
    """One macro: its call, what it gives, its arguments."""
    arguments = macro.get("arguments") or []
    assert isinstance(arguments, list)
    name = str(macro["name"])
    is_test = name.startswith("test_")
    heading = f"Generic test `dbt_cdc.{name[5:]}`" if is_test else f"`dbt_cdc.{name}({macro_call(name)})`"
    lines = [f"### {heading}", "", str(macro["description"]).strip(), ""]
    if arguments:
        lines += ["| argument | type | meaning |", "|---|---|---|"]
        lines += [f"| `{a['name']}` | {a['type']} | {' '.join(a['description'].split())} |" for a in arguments]
        lines.append("")
    return lines


def python_section(name: str, thing: Any) -> list[str]:
    """One function or class, or a module and what it exports: calls and docstrings."""
    inside = [*thing.__all__] if inspect.ismodule(thing) else []
    call = "" if inspect.ismodule(thing) else re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(thing)))
    lines = [f"### `{name}{call}`", "", inspect.getdoc(thing) or "", ""]
    return lines + [line for part in inside for line in python_section(f"{name}.{part}", getattr(thing, part))]


def reference() -> str:
    """The whole page."""
    lines = ["# Reference", "", "Made by `docs/reference.py`; do not edit.", "", "## Macros", ""]
    for file in sorted((ROOT / "macros").rglob("*.yml")):
        for macro in sorted(yaml.safe_load(file.read_text())["macros"], key=lambda m: str(m["name"])):
            if not PAGES.match(macro["name"]):
                lines += macro_section(macro)
    lines += ["## Python", ""]
    for name in sorted(dbt_cdc.__all__):
        if name != "__version__":
            lines += python_section(f"dbt_cdc.{name}", getattr(dbt_cdc, name))
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    TARGET.write_text(reference())
