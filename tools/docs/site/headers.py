"""Reads the public headers: every declaration that a program may use, with the comment above it, at both levels of the API.

A small reader of the house's own style, in place of a compiler: it keeps declarations as they are written. What it takes out of a header is
compared with clang's view of the same headers by tests/py/test_site.py.
"""
import dataclasses
import pathlib
import re

LEVELS = {10: "10.16", 11: "11.1"}
_NAME = r"[A-Za-z_]\w*"


@dataclasses.dataclass
class Declaration:
    kind: str  # class, enum, enumerator, function, field, alias, macro
    name: str
    scope: str  # of the classes and namespaces around it
    text: str  # as it is written, on one line
    line: int
    comment: list = dataclasses.field(default_factory=list)
    protected: bool = False
    deprecated: bool = False
    group: int = 0  # the line where it began: declarations without an empty line between them share the comment of the first
    levels: dict = dataclasses.field(default_factory=dict)  # level -> text
    members: list = dataclasses.field(default_factory=list)

    @property
    def full(self):
        return f"{self.scope}::{self.name}" if self.scope else self.name


def at_level(text, level):
    """The text as a compiler at this level sees it, of the same number of lines: conditions on the level are decided, other directives are
    dropped but for #define, and the house's macros become what they stand for."""
    lines, keeping = [], [True]
    for line in text.splitlines():
        word = re.match(r"\s*#\s*(\w+)\s*(.*)", line)
        if not word:
            lines.append(line if all(keeping) else "")
            continue
        lines.append(line if word[1] == "define" and all(keeping) else "")
        if word[1] in ("if", "ifdef", "ifndef"):
            compared = re.fullmatch(r"NV_TENSORRT_MAJOR (<|>=) 11", word[2])
            keeping.append((level < 11) == (compared[1] == "<") if compared else True)
        elif word[1] == "else":
            keeping[-1] = not keeping[-1] if _is_level(lines, text) else True
        elif word[1] == "endif":
            keeping.pop()
    return _without_macros("\n".join(lines), level)


def _is_level(lines, text):
    """Whether the #else that was just read belongs to a condition on the level."""
    depth = 0
    for line in reversed(text.splitlines()[: len(lines) - 1]):
        word = re.match(r"\s*#\s*(if\w*|endif)\s*(.*)", line)
        if word and word[1] == "endif":
            depth += 1
        elif word and depth == 0:
            return word[2].startswith("NV_TENSORRT_MAJOR")
        elif word:
            depth -= 1
    return False


def _without_macros(text, level):
    new = level >= 11
    text = re.sub(r"WOOTZ_BY_LEVEL\(([^,()]*), ([^,()]*)\)", r"\2" if new else r"\1", text)
    text = re.sub(r"WOOTZ_OVERLOAD_(UNTIL_10|SINCE_11)\((\w+)\)", r"\2", text)
    text = re.sub(r"^( *)WOOTZ_UNTIL_10\b", r"\1private:" if new else r"\1public:", text, flags=re.M)
    text = re.sub(r"^( *)WOOTZ_SINCE_11\b", r"\1public:" if new else r"\1private:", text, flags=re.M)
    deprecated = "TRT_DEPRECATED" if new else ""
    return re.sub(r"WOOTZ_DEPRECATED(_ENUM)?_SINCE_11\b", deprecated, text)


class Reader:
    """One header at one level. `self.found` gets the declarations of namespaces, with their members."""

    def __init__(self, text, scope=""):
        self.text, self.at, self.found, self.group = text, 0, [], 0
        self.comment, self.commented = [], False

    def read(self):
        self.scope("", self.found, "public")
        return self.found

    def line(self):
        return self.text.count("\n", 0, self.at) + 1

    def scope(self, name, into, access):
        """Everything until the brace that closes the scope, or the end."""
        while self.skip():
            rest = self.text[self.at:]
            if rest[0] == "}":
                self.at += 1
                return
            if label := re.match(r"(public|protected|private):", rest):
                access, self.at, self.comment = label[1], self.at + label.end(), []
                self.group = self.line()
            elif rest.startswith("#"):
                self.macro(name, into)
            else:
                self.statement(name, into, access)

    def skip(self):
        """Goes on to what is no space; comments of three slashes are kept for the declaration that follows."""
        while self.at < len(self.text):
            space = re.compile(r"\s*").match(self.text, self.at)
            if space[0].count("\n") > 1:
                self.comment = []
            self.at = space.end()
            if space[0].count("\n") > 1:
                self.group = self.line()
            found = re.compile(r"//[^\n]*").match(self.text, self.at)
            if not found:
                return self.at < len(self.text)
            if found[0].startswith("///"):
                if not self.comment or not self.commented:
                    self.group, self.comment = self.line(), []
                self.comment.append(found[0][3:].removeprefix(" "))
            self.commented, self.at = found[0].startswith("///"), found.end()
        return False

    def add(self, into, access, kind, name, scope, text, line):
        if access == "private":
            into = []
        declared = Declaration(kind, name, scope, text, line, self.comment, access == "protected", "TRT_DEPRECATED" in text or "TRT_DEPRECATED_API" in text, self.group)
        declared.text = _plain(text)
        into.append(declared)
        self.comment, self.commented = [], False
        return declared

    def macro(self, name, into):
        start, line = self.at, self.line()
        end = re.compile(r"(?:[^\n]*\\\n)*[^\n]*").match(self.text, start).end()
        found = re.match(rf"#\s*define\s+({_NAME}(?:\([^)]*\))?)(.*)", self.text[start:end], re.S)
        self.at = end
        if self.comment:
            value = found[2].strip()
            shown = found[1] if "(" in found[1] or "\n" in value else f"{found[1]} {value}"
            self.add(into, "public", "macro", found[1].partition("(")[0], "", shown, line)
        self.commented = False

    def statement(self, scope, into, access):
        line, head = self.line(), self.head()
        closing = self.text[self.at]
        plain = re.sub(r"template <[^<>]*(?:<[^<>]*>[^<>]*)*>\s*", "", head)
        if closing == "{" and (space := re.match(r"(?:inline )?namespace ?([\w:]*)$|extern \"C\"$", plain)):
            self.at += 1
            inner = space[1] or ""
            self.scope("::".join(filter(None, (scope, inner))), into, access)
        elif head.startswith("template <>"):  # numbers of values: EnumMax
            self.braces()
            self.at += self.text[self.at:self.at + 1] == ";"
        elif found := re.match(rf"(enum(?: class)?|class|struct)\s+(?:TRT_DEPRECATED\s+)?((?:{_NAME}::)*{_NAME})(?!\s*\()", re.sub(r"^typedef ", "", plain)):
            self.type(scope, into, access, found, head, line)
        else:
            self.value(scope, into, access, head, plain, line)

    def head(self):
        """The text until a semicolon or a brace outside of brackets."""
        parts, depth = [], 0
        while depth or self.text[self.at] not in ";{":
            found = re.compile(r"//[^\n]*|/\*(\w*).*?\*/|\"(?:\\.|[^\"])*\"|.", re.S).match(self.text, self.at)
            depth += found[0] in ("(", "[")
            depth -= found[0] in (")", "]")
            parts.append(found[1] or ("" if found[0].startswith(("//", "/*")) else found[0]))
            self.at = found.end()
        return re.sub(r"\s+(?=[,)])|\s+(?= )", "", re.sub(r"\s", " ", "".join(parts))).strip()

    def braces(self):
        """Goes past what is in braces."""
        depth = 0
        while True:
            depth += {"{": 1, "}": -1}.get(self.text[self.at], 0)
            self.at += 1
            if not depth:
                return

    def type(self, scope, into, access, found, head, line):
        if self.text[self.at] == ";":  # a forward declaration
            self.at += 1
            self.comment, self.commented = [], False
            return
        kind, name = found[1].split()[0], found[2]
        declared = self.add(into, access, "enum" if kind == "enum" else "class", name, scope, head, line)
        self.at += 1
        if kind == "enum":
            self.enumerators(declared)
        else:
            self.group = self.line()
            self.scope(declared.full, declared.members, "private" if kind == "class" else "public")
        self.at = self.text.index(";", self.at) + 1
        self.comment, self.commented = [], False

    def enumerators(self, enum):
        while self.skip() and self.text[self.at] != "}":
            line = self.line()
            found = re.compile(r"(\w+)([^,}]*),?").match(self.text, self.at)
            self.at = found.end()
            self.add(enum.members, "public", "enumerator", found[1], enum.full, re.sub(r"\s+", " ", found[1] + found[2]).strip(), line)
        self.at += 1

    def value(self, scope, into, access, head, plain, line):
        """A function, a field or an alias. Bodies and initializers are gone past."""
        call = re.search(rf"(~?{_NAME}|operator\W+)\(", plain)
        if call and call[1] in ("alignas", "decltype"):
            call = None
        initialized = ""
        if self.text[self.at] == "{":
            start = self.at
            self.braces()
            initialized = self.text[start:self.at]
            if not call:
                self.at = self.text.index(";", self.at)
        if self.text[self.at:self.at + 1] == ";":
            self.at += 1
        if plain.startswith(("using namespace", "friend")) or not plain:
            return
        kind, name = "field", ""
        if alias := re.match(rf"using ({_NAME}) =|typedef .*?({_NAME})$", plain):
            kind, name = "alias", alias[1] or alias[2]
        elif call:
            kind, name = "function", call[1].strip()
            if re.search(r"= (default|delete)$", plain) or name.startswith(("~", "operator")):
                self.comment, self.commented = [], False
                return
            head = re.sub(r"\) (?:noexcept )?: .*$", ")", head) if initialized else head
        else:
            name = re.search(rf"({_NAME})\s*(?:\[[^\]]*\])*\s*(?:=.*)?$", plain)[1]
            head += initialized if initialized and "constexpr" in head else ""
        self.add(into, access, kind, name, scope, head, line)


def _plain(text):
    text = re.sub(r"TRT_DEPRECATED_BECAUSE\(\"[^\"]*\"\)", "", text)
    text = re.sub(r"\b(TRT_DEPRECATED(_ENUM|_API)?|TENSORRTAPI|WOOTZ_EXPORT|TRTNOEXCEPT|inline)\b", "", text.replace("WOOTZ_NOEXCEPT", "noexcept"))
    return re.sub(r"\s+", " ", text.replace('extern "C"', "")).strip()


def _merge(lists):
    """The declarations of both levels in the order of the file: {level: [Declaration]} to one list, of which each knows its levels."""
    merged = {}
    for level, declarations in lists.items():
        for declared in declarations:
            key = (declared.kind, declared.name) if declared.kind in ("class", "enum") else (declared.kind, declared.name, declared.line)
            known = merged.setdefault(key, declared)
            known.levels[level] = declared.text
            known.__dict__.setdefault("by_level", {})[level] = declared.members
            known.comment = known.comment or declared.comment
    for declared in merged.values():
        if declared.kind in ("class", "enum"):
            declared.members = _merge(declared.by_level)
    return sorted(merged.values(), key=lambda declared: declared.line)


def _named_by_aliases(declarations):
    """Classes of v_1_0 and the like take the name that programs use, and their aliases go."""
    versioned = re.compile(r"(?:\w+::)*(v_\d_\d)::(\w+)$")
    names = {}
    for declared in declarations:
        if declared.kind == "alias" and (found := versioned.match(declared.text.partition("= ")[2])):
            names[found[1], found[2]] = declared.name
    kept = []
    for declared in declarations:
        space = declared.scope.rpartition("::")[2]
        if declared.kind == "class" and (space, declared.name) in names:
            declared.name, declared.scope = names[space, declared.name], declared.scope.rpartition("::")[0]
        if declared.kind != "alias" or not versioned.match(declared.text.partition("= ")[2]):
            kept.append(declared)
    return kept


def read(path):
    """(first line of the header, its declarations) with both levels in one."""
    text = path.read_text()
    lists = {}
    for level in LEVELS:
        lists[level] = _named_by_aliases(Reader(at_level(text, level)).read())
    summary = re.match(r"// (.*(?:\n// .*)*)", text)[1].replace("\n// ", " ")
    return summary, _merge(lists)


def public_headers(include):
    """Paths below the folder include, those of TensorRT's names first; only headers that declare something."""
    files = [*sorted(include.glob("*.h")), *sorted((include / "impl").glob("*.h")), *sorted((include / "wootz").rglob("*.h"))]
    return {file.relative_to(include).as_posix(): found for file in files if (found := read(file))[1]}


if __name__ == "__main__":
    root = pathlib.Path(__file__).resolve().parents[3]
    for header, (summary, declarations) in public_headers(root / "include").items():
        print(f"{header}: {summary}")
        for declared in declarations:
            print(f"  {declared.kind} {declared.full} {sorted(declared.levels)}")
            for member in declared.members:
                print(f"    {member.kind} {member.text} {sorted(member.levels)} g{member.group} {' '.join(member.comment)[:60]}")
