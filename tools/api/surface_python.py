#!/usr/bin/env python3
"""What the Python package offers, against the lists of what TensorRT's package offers.

    surface_python.py --level 10           compares; prints what differs, but for the lines of the table of exceptions
    surface_python.py --level 10 --print   prints what the package offers, in the lists' form

The lists (tests/api_headers/surface_python_*.txt) have a line for each enumeration, class, function and member:

    enum TripLimit COUNT=0 WHILE=1
    class DimsHW(Dims2)
      h rw                                         a property that can be read and written; `r`: only read
      __init__() | (h, w) | (shape)                parameters and defaults of each overload
      __init__ none                                objects cannot be made by a program
      append list                                  (printed only) what Python's list has
    def get_nv_onnx_parser_version()

Names of parameters that the lists call arg0, arg1, ... can only be given by position: ours may have any name.
"""
import argparse
import enum
import inspect
import pathlib
import re
import sys
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[2]
LISTS = {10: ROOT / "tests/api_headers/surface_python_10.16.txt", 11: ROOT / "tests/api_headers/surface_python_11.1.txt"}
# Lines "LEVEL NAME" and why: what is missing or different, and what the package has beyond the lists.
EXCEPTIONS = ROOT / "tests/api_headers/surface_python_missing.txt"
BEYOND = ROOT / "tests/api_headers/surface_python_beyond.txt"
NONE = "none"  # of __init__
LISTS_OWN = "list"  # a method that a class has from Python's list, which takes the same


@dataclass
class Surface:
    enums: dict = field(default_factory=dict)      # name: {enumerator: number}
    classes: dict = field(default_factory=dict)    # name: (bases, {member: "r", "rw", NONE or [overloads]})
    functions: dict = field(default_factory=dict)  # name: [overloads]; an overload is [(parameter, default or None)]


def _overload(text):
    """The parameters in "(a, b=1, c)": one without a default may follow one that has it, as bindings of C++ allow."""
    parts = [part.partition("=") for part in text[1:-1].split(", ") if part]
    return [(name, default if equals else None) for name, equals, default in parts]


def _overloads(text):
    return [_overload(part.strip()) for part in text.split(" | ")]


def _shown(overloads):
    return " | ".join("(" + ", ".join(n if d is None else f"{n}={d}" for n, d in o) + ")" for o in overloads)


def read_list(text):
    surface, members = Surface(), None
    for line in text.splitlines():
        if line.startswith("enum "):
            _, name, *values = line.split()
            surface.enums[name] = {v.split("=")[0]: int(v.split("=")[1]) for v in values}
        elif line.startswith("class "):
            name, bases = re.fullmatch(r"class (\w+)(?:\((.*)\))?", line).groups()
            members = {}
            surface.classes[name] = (bases.split(", ") if bases else [], members)
        elif line.startswith("def "):
            name, rest = re.fullmatch(r"def (\w+)(\(.*)", line).groups()
            surface.functions[name] = _overloads(rest)
        elif line.startswith("  "):
            name, rest = re.fullmatch(r"  (\w+) ?(.*)", line).groups()
            members[name] = rest if rest in ("r", "rw", NONE, LISTS_OWN) else _overloads(rest)
    return surface


def print_list(surface):
    lines = []
    for name, values in sorted(surface.enums.items()):
        lines.append(" ".join([f"enum {name}", *(f"{v}={n}" for v, n in sorted(values.items(), key=lambda item: item[1]))]))
    for name, (bases, members) in sorted(surface.classes.items()):
        lines.append(f"class {name}" + (f"({', '.join(bases)})" if bases else ""))
        for member, what in sorted(members.items()):
            lines.append(f"  {member} {what}" if isinstance(what, str) else f"  {member}{_shown(what)}")
    lines += [f"def {name}{_shown(what)}" for name, what in sorted(surface.functions.items())]
    return "\n".join(lines) + "\n"


# What the package has.

def _default(value):
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    return repr(value)


def _split(text):
    """The parameters in the text between the brackets of a signature."""
    parts, depth = [""], 0
    for letter in text:
        depth += letter in "([{"
        depth -= letter in ")]}"
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip() not in ("", "/", "*")]


def _nanobind_overloads(function, bound):
    found = []
    for signature, _, *defaults in function.__nb_signature__:
        values = iter(defaults[0] or () if defaults else ())
        text = signature[signature.index("(") + 1:signature.rindex(" -> ")].rstrip()[:-1]
        overload = []
        for part in _split(text):
            name, given = re.fullmatch(r"(\w+)(.*)", part, re.S).groups()
            written = given.partition(" = ")[2]  # the number of a value in the list, a value, or "...": none
            overload.append((name, _default(next(values)) if re.fullmatch(r"\\\d+", written) else
                             None if written in ("", "...") else written))
        found.append(overload[1 if bound else 0:])
    return found


def _overloads_of(function, bound=True):
    if hasattr(function, "__nb_signature__"):
        return _nanobind_overloads(function, bound)
    parameters = list(inspect.signature(function).parameters.values())[1 if bound else 0:]
    return [[(p.name, None if p.default is p.empty else _default(p.default)) for p in parameters]]


def _member(cls, name):
    """The form of a member as it is in the lists; None: there is none."""
    raw = inspect.getattr_static(cls, name, None)
    if raw is None:
        return None
    if isinstance(raw, property):
        return "r" if raw.fset is None else "rw"
    if type(raw).__name__ in ("method_descriptor", "wrapper_descriptor"):
        return LISTS_OWN
    if isinstance(raw, staticmethod):
        return _overloads_of(raw.__func__, False)
    if type(raw).__name__ == "nb_func":
        return _overloads_of(raw, False)
    if hasattr(raw, "__nb_signature__") or inspect.isfunction(raw):
        return _overloads_of(raw)
    return "r" if not callable(raw) else [[("self", None)]]


def of_package(names, wanted):
    """Of a package's names, what a list asks for; `wanted` says which members a class is asked about."""
    surface = Surface()
    for name in wanted.enums:
        outer, _, inner = name.rpartition(".")
        found = getattr(names.get(outer), inner, None) if outer else names.get(name)
        if isinstance(found, enum.EnumMeta):
            surface.enums[name] = {key: int(value) for key, value in found.__members__.items()}
    for name, (_, members) in wanted.classes.items():
        cls = names.get(name)
        if not inspect.isclass(cls):
            continue
        mine = {}
        for member, what in members.items():
            if member in ("__init__", "__del__"):
                mine[member] = what if member == "__del__" else _construction(cls, what)
            elif (form := _member(cls, member)) is not None:
                mine[member] = form
        surface.classes[name] = ([c.__name__ for c in cls.__mro__[1:] if c is not object], mine)
    for name in wanted.functions:
        if callable(names.get(name)):
            surface.functions[name] = _overloads_of(names[name], False)
    return surface


def _construction(cls, wanted):
    init = inspect.getattr_static(cls, "__init__", None)
    if issubclass(cls, list):
        return LISTS_OWN
    made = init is not None and init is not object.__init__ and (hasattr(init, "__nb_signature__") or inspect.isfunction(init))
    return _overloads_of(init) if made else NONE


# What is asked for, against what there is.

def _same_default(wanted, found):
    if wanted == found:
        return True
    # <DataType.FLOAT: 0> in the lists of others, or any object's text
    return wanted is not None and found is not None and wanted.split(".")[-1] == found.split(".")[-1] and "." in wanted


def accepts(found, wanted):
    """Whether a call as the wanted overload allows it is one of the found overload."""
    if len(found) < len(wanted) or any(default is None for _, default in found[len(wanted):]):
        return False
    for (want, want_default), (name, default) in zip(wanted, found):
        if not re.fullmatch(r"arg\d+", want) and want.rstrip("_") != name.rstrip("_"):
            return False
        if want_default is not None and not _same_default(want_default, default):
            return False
    return True


def _differences_of_member(name, want, have):
    if have is None:
        yield f"missing {name}"
    elif have == LISTS_OWN and not isinstance(want, str):
        return
    elif isinstance(want, str):
        if want == "rw" and have == "r" or want != "rw" and have != want:
            yield f"different {name}: {want} there, {have if isinstance(have, str) else _shown(have)} here"
    elif isinstance(have, str):
        yield f"different {name}: {_shown(want)} there, {have} here"
    else:
        for overload in want:
            if not any(accepts(mine, overload) for mine in have):
                yield f"different {name}: {_shown([overload])} there, {_shown(have)} here"


def differences(wanted, found):
    for name, values in wanted.enums.items():
        have = found.enums.get(name)
        if have is None:
            yield f"missing enum {name}"
            continue
        for value, number in values.items():
            if have.get(value) != number:
                yield f"different enum {name}.{value}: {number} there, {have.get(value)} here"
    for name, (bases, members) in wanted.classes.items():
        if name not in found.classes:
            yield f"missing class {name}"
            continue
        have_bases, have = found.classes[name]
        for base in bases:
            if base not in have_bases:
                yield f"different class {name}: no {base}"
        for member, want in members.items():
            yield from _differences_of_member(f"{name}.{member}", want, have.get(member))
    for name, want in wanted.functions.items():
        yield from _differences_of_member(name, want, found.functions.get(name))


def extras(wanted, names):
    """Public enumerators and members of the package's classes that the list lacks."""
    for name, value in sorted(names.items()):
        if name in wanted.enums:
            yield from (f"{name}.{v}" for v in value.__members__ if v not in wanted.enums[name])
        elif name in wanted.classes:
            known = set(wanted.classes[name][1])
            for base in wanted.classes[name][0]:
                known |= set(wanted.classes.get(base, ((), {}))[1])
            yield from (f"{name}.{member}" for member, what in vars(value).items()
                        if not member.startswith("_") and member not in known and not isinstance(what, (enum.Enum, enum.EnumMeta)))


def _names_in(table, level):
    return {line.split()[1] for line in table.read_text().splitlines() if line.split()[:1] == [str(level)]}


def exceptions(level):
    return _names_in(EXCEPTIONS, level)


def beyond(level):
    return _names_in(BEYOND, level)


def key(difference):
    """The name that a difference is about: "IAttention.mask", "enum X"."""
    words = difference.split()
    return words[2].rstrip(":") if words[1] in ("enum", "class") else words[1].rstrip(":")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--level", type=int, required=True, choices=(10, 11))
    parser.add_argument("--print", action="store_true", dest="show")
    args = parser.parse_args()
    import wootz  # noqa: F401
    from wootz import _levels
    wanted, names = read_list(LISTS[args.level].read_text()), _levels.names(args.level)
    found = of_package(names, wanted)
    if args.show:
        print(print_list(found), end="")
        return 0
    known = exceptions(args.level)
    lines = [line for line in differences(wanted, found) if key(line) not in known]
    print("\n".join(lines))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
