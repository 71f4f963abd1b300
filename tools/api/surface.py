"""The surface of the public headers, as facts: classes, methods, enumerators, aliases and functions, read by clang.

    surface.py --level 11                     compares include/ with tests/api_headers/surface_11.1.txt
    surface.py --level 11 --print             prints the surface of include/ in the form of those files

Exit status 1 when something is missing, extra or different and not named in tests/api_headers/differences.txt.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FACTS = ROOT / "tests/api_headers"
LISTS = {10: "surface_10.16.txt", 11: "surface_11.1.txt"}
SPACES = {"nvinfer1", "nvonnxparser"}
FUNDAMENTAL = {
    "int8_t": "signed char", "uint8_t": "unsigned char", "int32_t": "int", "uint32_t": "unsigned int",
    "int64_t": "long", "uint64_t": "unsigned long", "size_t": "unsigned long", "std::size_t": "unsigned long",
    "cudaStream_t": "CUstream_st *", "cudaEvent_t": "CUevent_st *",
}
WORDS = {"const", "unsigned", "signed", "long", "int", "char", "void", "bool", "float", "double", "short", "std"}


class Surface:
    """Names to facts. A fact is a text: equal texts mean an equal declaration."""

    def __init__(self):
        self.bases = {}      # class -> list of bases
        self.members = {}    # class -> {key: fact}: key is name, parameters and const of a method, or a field's name
        self.headers = {}    # class, enum or function -> header that declares it
        self.enums = {}      # enum -> (underlying type, {enumerator: number})
        self.aliases = {}    # name -> type
        self.functions = {}  # name and parameters -> result
        self.maxima = {}     # enum -> EnumMaxImpl<enum>::kVALUE

    def names(self):
        return self.bases.keys() | self.enums.keys() | self.aliases.keys()


class Types:
    """Writes a type the same way however it was spelled: aliases resolved, names in full, const in front."""

    def __init__(self, surface):
        self.surface = surface

    def resolve(self, name, scope):
        if name in FUNDAMENTAL:
            return FUNDAMENTAL[name]
        if name in WORDS or name.startswith("std::"):
            return name
        parts = scope.split("::") if scope else []
        for depth in range(len(parts), -1, -1):
            prefix = "::".join(parts[:depth])
            full = f"{prefix}::{name}" if prefix else name
            if full in self.surface.aliases and self.surface.aliases[full] != full:
                return self.write(self.surface.aliases[full], full.rpartition("::")[0])
            if full in self.surface.bases or full in self.surface.enums:
                return full
        return name

    def write(self, text, scope):
        text = re.sub(r"\b(class|struct|enum)\s+", "", text)
        text = re.sub(r"[A-Za-z_][\w:]*", lambda found: self.resolve(found.group(0), scope), text)
        text = re.sub(r"\s*([*&,<>()\[\]])\s*", r"\1", text).strip()
        head = re.match(r"((?:const )*[\w: ]*?(?:<.*>)?)((?: ?const)?)([*&].*|\[.*)?$", text)
        if head and head.group(2):
            text = f"const {head.group(1)}{head.group(3) or ''}"
        return re.sub(r"\*const(?=[*&])", "* const ", text)

    def parameter(self, text, scope):
        """As a parameter: const of the parameter itself says nothing to a caller, and an array is a pointer."""
        text = self.write(text, scope)
        text = re.sub(r"\*const$", "*", text)
        text = re.sub(r"\[\d*\]$", "*", text)
        if text.startswith("const ") and not re.search(r"[*&]", text):
            text = text.removeprefix("const ")
        return text


def split(text):
    """Parameters of a list between commas that are in no brackets."""
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += (char in "<([") - (char in ">)]")
        if char == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return parts + [last] if last else parts


def default_of(node):
    """The value of a default argument, as text."""
    kind = node.get("kind", "")
    if kind in ("CXXNullPtrLiteralExpr", "GNUNullExpr"):
        return "nullptr"
    if kind == "CXXBoolLiteralExpr":
        return str(node["value"]).lower()
    if kind.endswith("Literal"):
        return str(node["value"])
    if kind == "DeclRefExpr":
        return node["referencedDecl"]["name"]
    sign = "-" if kind == "UnaryOperator" and node.get("opcode") == "-" else ""
    for inner in node.get("inner", []):
        if found := default_of(inner):
            return sign + found
    return ""


def number_of(node):
    if "value" in node and node.get("kind") in ("ConstantExpr", "IntegerLiteral"):
        return int(node["value"])
    for inner in node.get("inner", []):
        if (found := number_of(inner)) is not None:
            return found
    return None


class Reader:
    """From clang's syntax tree to a Surface. Names first, since a type may name what comes later."""

    def __init__(self):
        self.surface = Surface()
        self.types = Types(self.surface)
        self.late = []

    def read(self, tree):
        self.scope(tree, "", outer=True)
        for act in self.late:
            act()
        return self.surface

    def scope(self, node, name, outer=False):
        for child in node.get("inner", []):
            kind, own = child["kind"], child.get("name", "")
            full = f"{name}::{own}" if name else own
            if own.startswith(("operator", "std")) or (outer and kind == "NamespaceDecl" and own not in SPACES):
                continue
            if kind == "NamespaceDecl":
                self.scope(child, full if own else name)
            elif kind == "LinkageSpecDecl":
                self.scope(child, name, outer)
            elif kind == "CXXRecordDecl" and name and child.get("completeDefinition"):
                self.record(child, full)
            elif kind == "EnumDecl" and name:
                self.enum(child, full)
            elif kind in ("TypeAliasDecl", "TypedefDecl") and (name or own.startswith("SubGraph")):
                self.surface.aliases[full] = child["type"]["qualType"]
            elif kind == "ClassTemplateDecl" and own in ("EnumMaxImpl", "PluginRegistrar"):
                self.surface.bases.setdefault(full, [])
                self.surface.members.setdefault(full, {})
            elif kind == "ClassTemplateSpecializationDecl" and own == "EnumMaxImpl":
                self.maximum(child)
            elif kind == "FunctionDecl" and (name or self.ours(child)):
                self.late.append(lambda c=child, f=full, n=name: self.function(c, f, n))

    @staticmethod
    def ours(node):
        """A C function of ours at global scope: exported, and no builtin of the compiler."""
        return any(inner.get("kind") == "VisibilityAttr" for inner in node.get("inner", []))

    def maximum(self, node):
        enum = next(inner for inner in node["inner"] if inner["kind"] == "TemplateArgument")["type"]["qualType"]
        value = next((inner for inner in node["inner"] if inner.get("name") == "kVALUE"), None)
        if value:
            self.late.append(lambda: self.surface.maxima.__setitem__(self.types.write(enum, "nvinfer1"),
                                                                     number_of(value)))

    def enum(self, node, full):
        numbers, following = {}, 0
        for item in node.get("inner", []):
            if item["kind"] != "EnumConstantDecl":
                continue
            given = number_of(item)
            following = following if given is None else given
            numbers[item["name"]] = following
            following += 1
        if numbers:
            type_ = node.get("fixedUnderlyingType", {}).get("qualType", "unsigned int")
            self.surface.enums[full] = (FUNDAMENTAL.get(type_, type_), numbers)

    def record(self, node, full):
        self.surface.bases[full] = []
        members = self.surface.members.setdefault(full, {})
        access = "private" if node.get("tagUsed") == "class" else "public"
        self.late.append(lambda: self.surface.bases.__setitem__(
            full, [self.types.write(base["type"]["qualType"], full) for base in node.get("bases", [])]))
        for child in node.get("inner", []):
            kind = child["kind"]
            if kind == "AccessSpecDecl":
                access = child["access"]
            elif child.get("isImplicit"):
                continue
            elif kind in ("CXXRecordDecl", "EnumDecl", "TypeAliasDecl") and access == "public":
                self.scope({"inner": [child]}, full)
            elif kind == "CXXDestructorDecl":
                if access == "protected":
                    members["~"] = access
            elif kind in ("CXXMethodDecl", "CXXConstructorDecl", "FieldDecl") and access != "private":
                self.late.append(lambda c=child, a=access: self.member(members, c, full, a))

    def member(self, members, node, full, access):
        if node["kind"] == "FieldDecl":
            if access == "public":
                members[node["name"]] = f"field {self.types.write(node['type']['qualType'], full)}"
            return
        if node["name"].startswith("operator") or node.get("explicitlyDeleted"):
            return
        key, fact = self.callable(node, full)
        if node["kind"] == "CXXConstructorDecl":
            copies = full.rpartition("::")[2]
            if access == "public" and key.count("(") and not re.search(rf"\((const )?[\w:]*{copies}&", key):
                if not key.endswith("()"):
                    members["constructor" + key[key.index("("):]] = ""
            return
        marks = []
        if node.get("pure"):
            marks.append("pure")
        elif node.get("virtual") or any(inner["kind"] == "OverrideAttr" for inner in node.get("inner", [])):
            marks.append("virtual")
        if access == "protected":
            marks.append("protected")
        members[key] = " ".join([fact, *marks])

    def callable(self, node, scope):
        whole = node["type"]["qualType"]
        result = whole[:whole.index("(")] if "(*)" not in whole else whole
        parameters = [inner for inner in node.get("inner", []) if inner["kind"] == "ParmVarDecl"]
        types = [self.types.parameter(inner["type"]["qualType"], scope) for inner in parameters]
        tail = whole[whole.rindex(")") + 1:]
        key = f"{node['name']}({', '.join(types)})" + (" const" if "const" in tail else "")
        defaults = [f"{index}={default_of(inner)}" for index, inner in enumerate(parameters) if "init" in inner]
        fact = f"-> {self.types.write(result, scope)}" + (" noexcept" if "noexcept" in tail else "")
        return key, fact + (f" defaults {' '.join(defaults)}" if defaults else "")

    def function(self, node, full, scope):
        if node["name"].startswith("wootz_"):
            return  # our extensions are C functions of another header
        key, fact = self.callable(node, scope)
        self.surface.functions[full.rpartition("::")[0] + "::" + key if scope else key] = fact


def clang_tree(headers, level, include):
    with tempfile.NamedTemporaryFile("w", suffix=".h") as file:
        file.write("".join(f'#include "{header}"\n' for header in headers))
        file.flush()
        command = ["clang-14", "-x", "c++", "-std=c++17", f"-I{include}", "-DWOOTZ_NO_CUDA_HEADERS",
                   "-DWOOTZ_NO_DEPRECATION", f"-DWOOTZ_TENSORRT_API={level}", "-fsyntax-only", "-Xclang",
                   "-ast-dump=json", file.name]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(headers)} at level {level}:\n{done.stderr}")
    return json.loads(done.stdout)


def read_headers(headers, level, include):
    return Reader().read(clang_tree(headers, level, include))


def write_list(surface):
    """The text form: what is indented belongs to the line above it."""
    lines = []
    for name in sorted(surface.bases):
        bases = ", ".join(surface.bases[name])
        lines.append(f"class {name}" + (f" : {bases}" if bases else "") + header_text(surface, name))
        lines += sorted(f"  {key} {fact}".rstrip() for key, fact in surface.members[name].items())
    for name, (type_, numbers) in sorted(surface.enums.items()):
        lines.append(f"enum {name} : {type_}" + header_text(surface, name))
        lines.append("  " + " ".join(f"{key}={value}" for key, value in sorted(numbers.items(), key=lambda i: i[1])))
    lines += [f"alias {name} = {type_}" for name, type_ in sorted(surface.aliases.items())]
    for name, fact in sorted(surface.functions.items()):
        lines.append(f"function {name} {fact}" + header_text(surface, name))
    return "\n".join(lines) + "\n"


def header_text(surface, name):
    return f"  [{surface.headers[name]}]" if name in surface.headers else ""


def read_list(text):
    surface, members = Surface(), {}
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        line, _, header = line.partition("  [") if not line.startswith(" ") else (line, "", "")
        kind, _, rest = line.strip().partition(" ")
        if line.startswith("  ") and isinstance(members, tuple):
            members[1].update((item.split("=")[0], int(item.split("=")[1])) for item in line.split())
        elif line.startswith("  "):
            found = re.match(r"(~|constructor\(.*\)|[\w]+\(.*?\)(?= ->| const)(?: const)?|\w+)(?: (.*))?$", line.strip())
            members[found.group(1)] = found.group(2) or ""
        elif kind == "class":
            name, _, bases = rest.partition(" : ")
            surface.bases[name] = split(bases)
            members = surface.members.setdefault(name, {})
        elif kind == "enum":
            name, _, type_ = rest.partition(" : ")
            members = surface.enums[name] = (type_, {})
        elif kind == "alias":
            name, _, type_ = rest.partition(" = ")
            surface.aliases[name] = type_
        elif kind == "function":
            name, _, fact = rest.partition(" -> ")
            surface.functions[name] = f"-> {fact}"
        if header:
            name = rest.partition(" : ")[0] if kind != "function" else rest.partition(" -> ")[0]
            surface.headers[name] = header.rstrip("]")
    return surface


def same_member(wanted, found):
    """How a call reaches its object is said of what programs implement only: all else is pure virtual here."""
    if not re.search(r"\b(pure|virtual)\b", wanted):
        found = re.sub(r" (pure|virtual)\b", "", found)
    return wanted == found


def differences(wanted, found):
    """What is missing, extra or different, a line each."""
    types_wanted, types_found = Types(wanted), Types(found)
    for name in sorted(wanted.bases.keys() | found.bases.keys()):
        if name not in found.bases or name not in wanted.bases:
            yield f"{'extra' if name in found.bases else 'missing'} class {name}"
            continue
        if wanted.bases[name] != found.bases[name]:
            yield f"different bases of {name}: {wanted.bases[name]}, here {found.bases[name]}"
        there, here = wanted.members[name], found.members[name]
        for key in sorted(there.keys() | here.keys()):
            if key not in here or key not in there:
                yield f"{'extra' if key in here else 'missing'} {name}::{key}"
            elif not same_member(there[key], here[key]):
                yield f"different {name}::{key}: {there[key]}, here {here[key]}"
    for name in sorted(wanted.enums.keys() | found.enums.keys()):
        there, here = wanted.enums.get(name), found.enums.get(name)
        if there is None or here is None:
            yield f"{'extra' if here else 'missing'} enum {name}"
        elif there != here:
            yield f"different enum {name}: {sorted(there[1].items() ^ here[1].items())}"
    for name in sorted(wanted.aliases.keys() | found.aliases.keys()):
        there, here = (types.write(name, "") if name in side.aliases else None
                       for types, side in ((types_wanted, wanted), (types_found, found)))
        if there != here:
            yield f"different alias {name}: {there}, here {here}"
    for name in sorted(wanted.functions.keys() | found.functions.keys()):
        there, here = wanted.functions.get(name), found.functions.get(name)
        if there != here:
            yield f"different function {name}: {there}, here {here}"
    for name, value in sorted(found.maxima.items()):
        if name in wanted.enums and value != max(wanted.enums[name][1].values()) + 1:
            yield f"different number of values of {name}: {value}"


def there(headers, include):
    return [header for header in headers if (pathlib.Path(include) / header).exists()]


def placed(wanted, level, include):
    """Each header alone declares what the list says that it declares."""
    headers = sorted(set(wanted.headers.values()))
    yield from (f"missing header {header}" for header in headers if header not in there(headers, include))
    for header in there(headers, include):
        found = read_headers([header], level, include)
        functions = {name.split("(")[0] for name in found.functions}
        for name in sorted(name for name, where in wanted.headers.items() if where == header):
            if name not in found.names() and name.split("(")[0] not in functions:
                yield f"not in {header} alone: {name}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--level", type=int, choices=sorted(LISTS), required=True)
    parser.add_argument("--include", default=str(ROOT / "include"))
    parser.add_argument("--print", action="store_true")
    options = parser.parse_args()
    wanted = read_list((FACTS / LISTS[options.level]).read_text()) if not options.print else Surface()
    headers = sorted(set(wanted.headers.values())) or sorted(
        str(path.relative_to(options.include)) for path in pathlib.Path(options.include).glob("Nv*.h"))
    found = read_headers(there(headers, options.include), options.level, options.include)
    if options.print:
        print(write_list(found), end="")
        return 0
    known = {line.split("  #")[0].strip() for line in (FACTS / "differences.txt").read_text().splitlines()
             if line and not line.startswith("#")}
    seen = [*differences(wanted, found), *placed(wanted, options.level, options.include)]
    unknown = [line for line in seen if not any(line.startswith(prefix) for prefix in known)]
    print("\n".join(unknown) if unknown else f"level {options.level}: as {LISTS[options.level]}")
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
