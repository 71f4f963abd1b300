"""Which source files may be compiled as one: unity_groups.py SIZE FILE...

Prints "GROUP FILE" for each file that shares its compilation with others, at most SIZE in a group; the rest is compiled alone.
A group's files stay independent of each other: what one of them declares for itself (in an unnamed namespace, as static, by
#define or by a using-declaration) is named nowhere in another, not even as somebody else's member, unless the other has the very same
#define, alias or using-declaration, which may stand twice. So nothing is found that would not be found
in a file alone, and nothing hides anything. What a header declares as well is not looked for: the compiler says so. Files with
using-directives share a group only with those that have the same, and files that tell their headers something, by a #define in
front of an #include, only with those that tell the same.
"""
import re
import sys

TOKEN = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/|[A-Za-z_]\w*|::|\S', re.S)
DIRECTIVE = re.compile(r"^#(?:[^\n]*\\\n)*[^\n]*", re.M)  # of the preprocessor, with its continued lines
WORD = re.compile(r"[A-Za-z_]\w*$")
TYPES = ("struct", "class", "enum", "union")


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
    name -= set(TYPES)  # of a value of a type without a name
    return name | further(statement) if "=" in statement else name


def further(statement):
    """Those behind the first of several values that one statement declares; a word too many does no harm."""
    names, depth = set(), 0
    for token, after in zip(statement, statement[1:]):
        depth += (token in "([") - (token in ")]")
        if token == "," and depth == 0 and WORD.match(after):
            names.add(after)
    return names


class Source:
    """A file's words, those among them that are its own, and its using-directives."""

    def __init__(self, text):
        self.words = set()
        # Its own names; those that others may declare too, with the text that these then have.
        self.own = {name: value.strip() for name, value in re.findall(r"^#define (\w+)((?:\\\n|.)*)", text, re.M)}
        self.directives = set(re.findall(r"^ *using namespace [\w:]+;", text, re.M))
        told = re.match(r'.*^#include [<"][^>"]+\.h[>"]', text, re.M | re.S)  # all up to the last header
        self.told = re.findall(r"^#(?:define|undef)\b(?:\\\n|.)*", told.group(0), re.M) if told else []
        self.depth, self.unnamed, self.statement = 0, None, []
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

    def open(self):
        if self.unnamed is None and self.statement[-1:] == ["namespace"]:
            self.unnamed = self.depth + 1
        elif self.unnamed is not None and self.depth == self.unnamed or self.statement[:1] == ["static"]:
            self.own.update(dict.fromkeys(declared(self.statement)))
        self.depth += 1
        self.statement = []

    def close(self):
        self.depth -= 1
        if self.unnamed is not None and self.depth < self.unnamed:
            self.unnamed = None
        if self.unnamed is None or self.depth == self.unnamed:
            self.statement = []

    def hidden_from(self, other):
        """Does the other name nothing of this one's own, or declare it in the same words?"""
        return all(text is not None and other.own.get(name) == text for name, text in self.own.items() if name in other.words)

    def independent(self, other):
        same = self.told == other.told and self.directives == other.directives
        return same and self.hidden_from(other) and other.hidden_from(self)


def groups(sources, size):
    """Lists of names of `sources`, a dictionary: each goes to the first group that has room and that it is independent of."""
    made = []
    for name, source in sources.items():
        fitting = (group for group in made if len(group) < size and all(source.independent(sources[other]) for other in group))
        group = next(fitting, None)
        if group is None:
            made.append([name])
        else:
            group.append(name)
    return [group for group in made if len(group) > 1]


def main():
    size, names = int(sys.argv[1]), sys.argv[2:]
    sources = {}
    for name in names:
        with open(name, encoding="utf-8") as file:
            sources[name] = Source(file.read())
    for number, group in enumerate(groups(sources, size)):
        for name in group:
            print(f"{number} {name}")


if __name__ == "__main__":
    main()
