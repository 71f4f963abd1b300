"""Tables and the files they promise: ops.def, kernels.inc, passes.def."""

import pathlib
import re
import sys

# A table line: MACRO(name, ...). The name of an entry is its first argument, bare or quoted.
ENTRY = re.compile(r'^\s*([A-Z][A-Z0-9_]*)\s*\(\s*"?([A-Za-z0-9_]+)"?\s*[,)]')
# What gives an op its meaning as a computation.
REFERENCE = re.compile(r"reference|expression|pointwise|expand")
CODE = (".cpp", ".cu", ".h", ".cuh")


def entries(table: pathlib.Path) -> list[tuple[int, str, str]]:
    """(line number, macro, name) for every entry; comments and preprocessor lines are skipped."""
    found = []
    for number, line in enumerate(table.read_text().splitlines(), 1):
        line = line.split("//")[0]
        match = None if line.lstrip().startswith("#") else ENTRY.match(line)
        if match:
            found.append((number, match[1], match[2]))
    return found


def snake(name: str) -> str:
    """MatMul and MATMUL_INTEGER alike become file names: mat_mul, matmul_integer."""
    if name.islower() or name.isupper():
        return name.lower()
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def check_ops(root: pathlib.Path) -> tuple[list[str], list[str]]:
    """Every line of ops.def has its module in src/ops/, with tests and a reference; every folder but
    `support` is one that has its line."""
    ops = root / "src/ops"
    table = ops / "ops.def"
    if not table.is_file():
        return [], []
    errors = []
    named = {}
    for number, _, name in entries(table):
        module = name.lower() if (ops / name.lower()).is_dir() else snake(name)
        here = f"src/ops/ops.def:{number}: ops:"
        if module in named:
            errors.append(f"{here} {name} stands twice")
            continue
        named[module] = number
        folder = ops / module
        if not folder.is_dir():
            errors.append(f"{here} {name} has no module src/ops/{module}/")
            continue
        if not list(folder.glob("*_test.cpp")) and not list(folder.glob("*_cases.cpp")):
            errors.append(f"{here} src/ops/{module}/ has neither *_test.cpp nor *_cases.cpp")
        code = "".join(f.read_text() for f in folder.iterdir() if f.suffix in CODE and "_test." not in f.name)
        if not REFERENCE.search(code):
            errors.append(f"{here} src/ops/{module}/ defines no reference (nor a pointwise expression, nor an expansion)")
    for folder in sorted(p for p in ops.iterdir() if p.is_dir()):
        if folder.name not in named and folder.name != "support":
            errors.append(f"src/ops/{folder.name}:1: ops: the module has no line in ops.def")
    return errors, []


# An entry of the CPU's kernels, in its source file; and the family that an entry of either backend names.
KERNEL_ENTRY = re.compile(r"^const KernelEntry (\w+)\b", re.M)
ENTRY_FAMILY = re.compile(r"\bFamily::k(\w+)")
FAMILY_TEXT = re.compile(r'^FAMILY\((\w+), "(\w+)"', re.M)


def check_kernels(root: pathlib.Path) -> tuple[list[str], list[str]]:
    """Every line of a kernels.inc is defined in a source file beside it, every entry has its line, and every family with
    kernels has problems to test and time them on."""
    errors = []
    lines = set()
    families: dict[str, str] = {}  # to where it is named first
    defined = []
    for table in sorted((root / "src/backends").rglob("kernels.inc")):
        module = table.parent
        where = table.relative_to(root).as_posix()
        code = [f.read_text() for f in module.rglob("*") if f.suffix in CODE and "_test." not in f.name]
        for number, _, name in entries(table):
            lines.add(name)
            if not any(re.search(rf"\b{name}\b", text) for text in code):
                errors.append(f"{where}:{number}: kernels: {name} is in no source file of {module.name}/")
        for name in ENTRY_FAMILY.findall(table.read_text()):
            families.setdefault(name, f"{where}:1")
    for file in sorted((root / "src/backends").rglob("*.cpp")):
        text = file.read_text()
        for match in KERNEL_ENTRY.finditer(text):
            where = f"{file.relative_to(root).as_posix()}:{text[:match.start()].count(chr(10)) + 1}"
            defined.append((match[1], where))
            family = ENTRY_FAMILY.search(text, match.end())
            if family:
                families.setdefault(family[1], where)
    errors += [f"{where}: kernels: {name} is in no kernels.inc" for name, where in defined if name not in lines]
    return errors + check_problems(root, families), []


def check_problems(root: pathlib.Path, families: dict[str, str]) -> list[str]:
    """Every family with kernels has tests/kernels/problems/<family>.problems, and some problem there is timed."""
    table = root / "src/backend/families.def"
    texts = dict(FAMILY_TEXT.findall(table.read_text())) if table.is_file() else {}
    errors = []
    for family, where in sorted(families.items()):
        if family == "Reformat":  # tests/kernels/reformats.cpp has its problems, since no graph asks for them
            continue
        file = root / f"tests/kernels/problems/{texts.get(family, family.lower())}.problems"
        if not file.is_file():
            errors.append(f"{where}: kernels: family {family} has no {file.relative_to(root).as_posix()}")
        elif "[bench]" not in file.read_text():
            errors.append(f"{file.relative_to(root).as_posix()}:1: kernels: no problem marked [bench]")
    return errors


def check_passes(root: pathlib.Path) -> tuple[list[str], list[str]]:
    """Every PASS of passes.def has <name>.cpp, <name>.test (or <name>_test.cpp) and its turn; every .test has its line."""
    folder = root / "src/passes"
    table = folder / "passes.def"
    if not table.is_file():
        return [], []
    errors = []
    names = set()
    lines = entries(table)
    turns = {name for _, macro, name in lines if macro in ("RUN", "RUN_LAST")}
    for number, macro, name in lines:
        if macro not in ("PASS", "RELAXED"):
            continue
        stem = snake(name)
        names.add(stem)
        here = f"src/passes/passes.def:{number}: passes:"
        if not list(folder.rglob(f"{stem}.cpp")):
            errors.append(f"{here} {name} has no {stem}.cpp")
        if not list(folder.rglob(f"{stem}.test")) and not list(folder.rglob(f"{stem}_test.cpp")):
            errors.append(f"{here} {name} has neither {stem}.test nor {stem}_test.cpp")
        if name not in turns:
            errors.append(f"{here} {name} never runs: give it a line RUN({name}) further down, where its turn is")
    for test in sorted(folder.rglob("*.test")):
        if test.stem not in names:
            errors.append(f"{test.relative_to(root).as_posix()}:1: passes: no pass of passes.def has this name")
    return errors, []


# Parameters of a problem by a name in quotes; a misspelt one would be a silent default.
BY_NAME = re.compile(r'\bget_(?:int|ints|float|floats|string)\(\s*"|\bparams(?:\[\s*"|\.(?:count|find|erase|contains)\(\s*")')
# Attributes of the graph have names; they are declared with the ops.
NAMED = ("src/ops/", "src/onnx/", "src/ir/")


def check_params(root: pathlib.Path) -> tuple[list[str], list[str]]:
    """A problem's parameters are fields of the structs of families.def, and families.md says what that table does."""
    errors = []
    for file in sorted((root / "src").rglob("*")):
        where = file.relative_to(root).as_posix()
        if file.suffix not in CODE or where.startswith(NAMED):
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if BY_NAME.search(line):
                errors.append(f"{where}:{number}: params: a parameter by its name; problem.as<...Params>() has it as a field")
    if (root / "src/backend/families.def").is_file():
        sys.path.insert(0, str(root / "tools/docs"))
        import families

        if (root / "src/backend/families.md").read_text() != families.markdown(root):
            errors.append("src/backend/families.md:1: params: differs from families.def: run tools/docs/families.py")
    return errors, []
