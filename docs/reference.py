"""Makes docs/reference.md from the macros' YAML and the docstrings of what the Python side exports.

python docs/reference.py
"""

from __future__ import annotations

import inspect
from pathlib import Path

import yaml

import dbt_cdc

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "reference.md"


def macro_section(macro: dict[str, object]) -> list[str]:
    """One macro: its call, what it gives, its arguments."""
    arguments = macro.get("arguments") or []
    assert isinstance(arguments, list)
    call = ", ".join(argument["name"] for argument in arguments)
    name = str(macro["name"])
    heading = f"Generic test `dbt_cdc.{name[5:]}`" if name.startswith("test_") else f"`dbt_cdc.{name}({call})`"
    lines = [f"### {heading}", "", str(macro["description"]).strip(), ""]
    if arguments:
        lines += ["| argument | type | meaning |", "|---|---|---|"]
        lines += [f"| `{a['name']}` | {a['type']} | {' '.join(a['description'].split())} |" for a in arguments]
        lines.append("")
    return lines


def python_section(name: str) -> list[str]:
    """One function, class or module: its call and docstring."""
    thing = getattr(dbt_cdc, name)
    call = "" if inspect.ismodule(thing) else str(inspect.signature(thing))
    return [f"### `dbt_cdc.{name}{call}`", "", inspect.getdoc(thing) or "", ""]


def reference() -> str:
    """The whole page."""
    lines = ["# Reference", "", "Made by `docs/reference.py`; do not edit.", "", "## Macros", ""]
    for file in sorted((ROOT / "macros").rglob("*.yml")):
        for macro in sorted(yaml.safe_load(file.read_text())["macros"], key=lambda m: str(m["name"])):
            lines += macro_section(macro)
    lines += ["## Python", ""]
    for name in sorted(dbt_cdc.__all__):
        if name != "__version__":
            lines += python_section(name)
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    TARGET.write_text(reference())
