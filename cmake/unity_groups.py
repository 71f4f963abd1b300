"""Which source files may be compiled as one, and the files that do so: unity_groups.py SIZE MADE FILE...

Writes MADE_0.cpp, MADE_1.cpp and so on, each of which includes at most SIZE files, and prints "GROUP FILE" for each file that
shares its compilation with others; the rest is compiled alone. A group's files stay independent of each other: what one of
them declares for itself (in an unnamed namespace, as static, by #define or by a using-declaration) is named nowhere in another, not
even as somebody else's member, unless the other has the very same #define, alias or using-declaration, which may stand twice. So
nothing is found that would not be found in a file alone, and nothing hides anything. A name of one that another has a use for as well gets
another name while the one is read, by a #define around it, unless something that is not its own might be meant by it; headers
are read before such a #define. What a header declares as well is not looked for: the compiler says so. Files with using-directives
share a group only with those that have the same, and files that tell their headers something, by a #define in front of an
#include, only with those that tell the same.

A new file changes few groups: files follow each other by name, and where one group ends and the next begins depends on the name of the
file there.
"""
import os
import re
import sys
import zlib

TOKEN = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/|[A-Za-z_]\w*|::|\S', re.S)
DIRECTIVE = re.compile(r"^#(?:[^\n]*\\\n)*[^\n]*", re.M)  # of the preprocessor, with its continued lines
WORD = re.compile(r"[A-Za-z_]\w*$")
TYPES = ("struct", "class", "enum", "union")
NO_NAMES = {*TYPES, "auto", "bool", "char", "const", "constexpr", "double", "float", "int", "long", "short", "static", "unsigned", "void"}
INCLUDE = re.compile(r'^#include ([<"][\w./]+[>"])', re.M)
CONDITION = re.compile(r"^# *if(?!ndef \w+_H)", re.M)
# Where a word may mean something of others, or is made a text (the suite of a test).
OTHERS = re.compile(r"(?:::|\.|- >)\s*([A-Za-z_]\w*)|\b(?:TEST_[FP]|INSTANTIATE_\w+|TYPED_TEST\w*)\s*\(\s*(\w+)(?:\s*,\s*(\w+))?")


def tokens(text):
    """Words and signs; neither comments nor texts in quotes."""
    for match in TOKEN.finditer(text):
        token = match.group(0)
        if token[:2] not in ("//", "/*", 'R"') and token[0] not in "\"'":
            yield token


def without_template(statement):
    if statement[:1] != ["template"]:
        return statement
    depth = 0
    for at, token in enumerate(statement[1:], 1):
        depth += (token == "<") - (token == ">")
        if depth == 0:
            return statement[at + 1:]
    return []


def declared(statement):
    """The name that a statement of a namespace declares: of a type, or what stands in front of its parameters or its value."""
    statement = without_template(statement)
    if statement[1:2] == ["("]:  # no type in front: a macro, as of a test
        return set()
    if statement[:1] in (["using"], ["typedef"]):
        alias = statement[1] if "=" in statement[:3] else statement[-1]
        return {alias} if "namespace" not in statement else set()
    for at, token in enumerate(statement[:2]):
        if token in TYPES:
            return set([word for word in statement[at + 1:at + 3] if word not in TYPES][:1])
    name, depth = set(), 0
    for token in statement:
        depth += (token == "<") - (token == ">")
        if token in "(=[" and depth <= 0:
            break
        if WORD.match(token):
            name = {token}
    name -= NO_NAMES  # a value of a type without a name
    return (name | further(statement)) - NO_NAMES if "=" in statement else name


def further(statement):
    """Those behind the first of several values that one statement declares; a word too many does no harm."""
    names, depth = set(), 0
    for token, after in zip(statement, statement[1:]):
        depth += (token in "([") - (token in ")]")
        if token == "," and depth == 0 and WORD.match(after):
            names.add(after)
    return names


def is_value(statement):
    """Does it give a value, so that it goes on behind braces? A function's parameters may have values as well."""
    statement, depth = without_template(statement), 0
    for before, token in zip([""] + statement, statement):
        depth += (token in "([") - (token in ")]")
        if token == "=" and depth == 0:
            return before != "operator"
    return False


class Source:
    """A file's words, those among them that are its own, and its using-directives."""

    def __init__(self, text):
        self.words = set()
        self.kept = {"operator"}  # words that cannot be other ones
        self.headers = [header for header in INCLUDE.findall(text) if header.endswith(('.h"', ">"))]
        self.conditional = bool(CONDITION.search(text))
        # Its own names; those that others may declare too, with the text that these then have.
        self.own = {name: value.strip() for name, value in re.findall(r"^#define (\w+)((?:\\\n|.)*)", text, re.M)}
        self.directives = set(re.findall(r"^ *using namespace [\w:]+;", text, re.M))
        told = re.match(r'.*^#include [<"][^>"]+\.h[>"]', text, re.M | re.S)  # all up to the last header
        self.told = re.findall(r"^#(?:define|undef)\b(?:\\\n|.)*", told.group(0), re.M) if told else []
        self.company = (tuple(self.told), frozenset(self.directives))  # those that it shares a group with have the same
        self.kept.update(self.own)
        self.kept.update(word for words in OTHERS.findall(" ".join(tokens(text))) for word in words)
        self.depth, self.unnamed, self.statement, self.around = 0, None, [], []
        for token in tokens(DIRECTIVE.sub("", text)):
            self.take(token)
        self.words.update(re.findall(r"\w+", " ".join(DIRECTIVE.findall(text))))

    def take(self, token):
        if WORD.match(token):
            self.words.add(token)
        if token == "{":
            self.open()
        elif token == "}":
            self.close()
        elif self.unnamed is None or self.depth == self.unnamed:
            self.statement.append(token)
            if token == ";":
                self.end()

    def end(self):
        statement, self.statement = self.statement[:-1], []
        alias = statement[:1] in (["using"], ["typedef"])
        if self.unnamed is not None or alias or statement[:1] == ["static"]:
            self.own.update(dict.fromkeys(declared(statement), " ".join(statement) if alias else None))
        if alias and "=" not in statement:
            self.kept.update(declared(statement))

    def open(self):
        if self.unnamed is None and self.statement[-1:] == ["namespace"]:
            self.unnamed = self.depth + 1
        elif self.unnamed is not None and self.depth == self.unnamed or self.statement[:1] == ["static"]:
            self.own.update(dict.fromkeys(declared(self.statement)))
        self.depth += 1
        self.around.append(self.statement if is_value(self.statement) else [])  # goes on behind its braces
        self.statement = []

    def close(self):
        self.depth -= 1
        if self.unnamed is not None and self.depth < self.unnamed:
            self.unnamed = None
        around = self.around.pop() if self.around else []
        if self.unnamed is None or self.depth == self.unnamed:
            self.statement = around

    def met_by(self, other):
        """The names of this one's own that the other has a use for, but for those that both declare in the same words."""
        return {name for name, text in self.own.items() if name in other.words and (text is None or other.own.get(name) != text)}

    def renamed_for(self, other):
        """The names of this one's own that must be other ones where the other is read too; None where they cannot."""
        names = self.met_by(other)
        return None if names and (self.conditional or self.told or names & self.kept) else names

    def fits(self, other):
        return self.company == other.company and self.renamed_for(other) is not None and other.renamed_for(self) is not None


def ends_group(name):
    """One of six, always the same ones."""
    return zlib.crc32(os.path.basename(name).encode()) % 6 == 0


def groups(sources, size):
    """Lists of names of `sources`, a dictionary: each goes to the first group that has room and that it fits into."""
    alike = {}
    for name, source in sources.items():
        alike.setdefault(source.company, []).append(name)
    return [group for names in alike.values() for group in groups_of(names, sources, size) if len(group) > 1]


def groups_of(names, sources, size):
    made, first = [], 0
    for name in names:
        if ends_group(name) and any(len(group) >= size * 3 // 4 for group in made[first:]):
            first = len(made)
        fitting = (group for group in made[first:] if len(group) < size and all(sources[name].fits(sources[other]) for other in group))
        group = next(fitting, None)
        if group is None:
            made.append([name])
        else:
            group.append(name)
    return made


# To g++ what is included is a header, whose types should not hold what only one file can see.
HEAD = """// @generated
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif
"""


def seen_from(folder, name, header):
    """A header as this file includes it, named by a file of this folder: those that lie beside the file are found there only."""
    beside = os.path.join(os.path.dirname(name), header[1:-1])
    return f'"{os.path.relpath(beside, folder)}"' if header[0] == '"' and os.path.exists(beside) else header


def text_of(group, sources, folder):
    """What is compiled for a group, in a file of this folder."""
    renamed = {name: set().union(*(sources[name].renamed_for(sources[other]) for other in group if other != name)) for name in group}
    text = HEAD
    if any(renamed.values()):
        headers = dict.fromkeys(seen_from(folder, name, header) for name in group if not sources[name].conditional
                                for header in sources[name].headers)
        text += "".join(f"#include {header}\n" for header in headers)
    for number, name in enumerate(group):
        text += "".join(f"#define {word} {word}_of_{number}\n" for word in sorted(renamed[name]))
        text += f'#include "{os.path.relpath(name, folder)}"\n'
        text += "".join(f"#undef {word}\n" for word in sorted(renamed[name]))
    return text


def write(path, text):
    """Left as it is where it says this already: what has not changed is not compiled again."""
    if not os.path.exists(path) or open(path, encoding="utf-8").read() != text:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def main():
    size, made, names = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    sources = {}
    for name in names:
        with open(name, encoding="utf-8") as file:
            sources[name] = Source(file.read())
    os.makedirs(os.path.dirname(made), exist_ok=True)
    for number, group in enumerate(groups(sources, size)):
        write(f"{made}_{number}.cpp", text_of(group, sources, os.path.dirname(made)))
        for name in group:
            print(f"{number} {name}")


if __name__ == "__main__":
    main()
