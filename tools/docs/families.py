#!/usr/bin/env python3
"""Writes src/backend/families.md from the tables of kernel families; `./dev lint` compares.

    tools/docs/families.py
"""

import pathlib
import re

HEAD = """# Kernel families: operands and parameters

Written by `tools/docs/families.py` from `families.def` and `op_kernels.def`: change those.

Logical dimensions are always in the model's order (NCHW for images); `TensorDesc::layout` says how they lie in memory.
Dimensions in a Problem are the profile's optimum (`dims`) and maximum (`max_dims`); a kernel gets the actual extents in
`bind`.

A family may carry `Problem::epilogue` unless it says "no expression": input 0 is the family's own result (in `acc_dtype`), input
k > 0 is `inputs[num_main + k - 1]`, which broadcasts to the result's shape; it has exactly one output, whose type is outputs[0]'s.

Convolutions and products of 8 bits: x is u8 or i8 and w is i8; the family's own result is x_scale * w_scale[m] *
sum((x - x_zero) * (w - w_zero)) + b in f32 (b is f32); the epilogue goes on in f32 and may end in `quantize` to u8 or i8.

In texts and plans a parameter stands where it is not as by default. Numbers out of range and names that are no choice are refused
where a plan is read.
"""
OPS = """
# What kernels need of an op

Parameters of a step of family `op` (`kernel`), for ops that some kernel knows by themselves; named as the op's attributes are.
"""
TRAITS = {
    "kNoExpression": "no expression",
    "kRunsItself": "run without being offered",
    "kMayOmit": "operands may be left out",
    "kMayJump": "results may jump",
    "kMultiplies": "sums products",
}
TYPES = {
    "bool": "flag", "int64_t": "int", "double": "real", "std::string": "text", "DType": "type", "Ints": "ints",
    "Floats": "reals", "IntLists": "lists of ints", "MaybeInt": "int or none", "MaybeInts": "ints or none",
    "MaybeIntLists": "lists of ints or none", "PointwiseExpr": "expression", "FamilyParamsBox": "family and parameters",
    "OpParamsBox": "op and parameters",
}


def arguments(line: str) -> list[str]:
    """Of a table's line: split at commas outside of quotes, brackets and braces."""
    parts, depth, quoted, current = [], 0, False, ""
    for c in line[line.index("(") + 1 : line.rindex(")")]:
        quoted ^= c == '"'
        if not quoted:
            depth += (c in "({[") - (c in ")}]")
            if c == "," and depth == 0:
                parts.append(current.strip())
                current = ""
                continue
        current += c
    return [p.strip('"') for p in parts + [current.strip()]]


def allowed(kind: str, rule: str, choices: dict[str, str]) -> str:
    plain = re.sub(r"^std::vector<(\w+)>$", r"\1", kind)
    if plain in choices:
        names = " ".join(f"`{c}`" for c in choices[plain].split())
        return names if plain == kind else f"each {names}"
    text = TYPES[kind]
    rule = re.sub(r"limits::kMaxRank - 1", "7", rule).replace("limits::kMaxRank", "8").replace("kMostParam", "2147483647")
    rule = rule.replace("limits::kMaxInputsPerNode", "65536").replace("1 << 20", "1048576")
    if match := re.match(r"within\((.+), (.+)\)", rule):
        text += f", {match[1]} to {match[2]}"
    elif match := re.match(r"at_least\((.+)\)", rule):
        text += f", at least {match[1]}"
    return text


def default(kind: str, value: str, choices: dict[str, tuple[str, list[str]]]) -> str:
    if match := re.match(r"(\w+)::(k\w+)$", value):
        names, enumerators = choices.get(match[1], ("", []))
        return f"`{names.split()[enumerators.index(match[2])]}`" if match[2] in enumerators else "none"
    return {"{}": "none", "false": "0", "true": "1"}.get(value, value)


def blocks(table: pathlib.Path, choices: dict) -> list[tuple[list[str], list[list[str]]]]:
    found = []
    for line in table.read_text().splitlines():
        if line.startswith("CHOICES("):
            name, names, *enumerators = arguments(line)
            choices[name] = (names, enumerators)
        elif line.startswith(("FAMILY(", "OP_KERNEL(")):
            found.append((arguments(line), []))
        elif line.startswith("PARAM("):
            found[-1][1].append(arguments(line))
    return found


def parameters(lines: list[list[str]], choices: dict) -> str:
    if not lines:
        return "\nNo parameters.\n"
    names = {name: text for name, (text, _) in choices.items()}
    rows = [f"| `{name}` | {allowed(kind, rule, names)} | {default(kind, value, choices)} | {meaning} |"
            for kind, name, value, rule, meaning in lines]
    return "\n| parameter | what it may be | default | meaning |\n| --- | --- | --- | --- |\n" + "\n".join(rows) + "\n"


def markdown(root: pathlib.Path) -> str:
    choices: dict = {}
    text = HEAD
    for (_, name, _, traits, inputs, results), lines in blocks(root / "src/backend/families.def", choices):
        said = [TRAITS[t] for t in traits.split(" | ") if t in TRAITS]
        text += f"\n## `{name}`" + (f" ({', '.join(said)})" if said else "") + "\n\n"
        text += f"Inputs: {inputs}. Results: {results}.\n" + parameters(lines, choices)
    text += OPS
    for (_, op), lines in blocks(root / "src/backend/op_kernels.def", choices):
        text += f"\n## `{op}`\n" + parameters(lines, choices)
    return text


def main() -> None:
    root = pathlib.Path(__file__).resolve().parents[2]
    (root / "src/backend/families.md").write_text(markdown(root))


if __name__ == "__main__":
    main()
