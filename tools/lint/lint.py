"""Checks the house rules that no compiler checks. Standard library only.

    python tools/lint/lint.py [ROOT]

Prints `file:line: rule: what is wrong` for each finding and exits 1 when there is one. Warnings do not fail.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import circles
import functions
import layers
import one_type
import public_names
import sizes
import standard_headers
import tables
import unnamed_functions
import words

RULES = (
    layers.check,
    circles.check,
    standard_headers.check,
    public_names.check,
    one_type.check,
    unnamed_functions.check,
    sizes.check,
    functions.check,
    words.check,
    tables.check_ops,
    tables.check_kernels,
    tables.check_passes,
    tables.check_params,
)


def run(root: pathlib.Path) -> tuple[list[str], list[str]]:
    """All findings of a tree: (errors, warnings)."""
    errors: list[str] = []
    warnings: list[str] = []
    for rule in RULES:
        found = rule(root)
        errors += found[0]
        warnings += found[1]
    return errors, warnings


def main() -> int:
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
    errors, warnings = run(root)
    for line in warnings:
        print(f"warning: {line}")
    for line in errors:
        print(f"error: {line}")
    print(f"lint: {len(errors)} errors, {len(warnings)} warnings")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
