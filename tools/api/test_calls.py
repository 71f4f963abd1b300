"""Which methods of the public API the C++ tests call, and whether a test asserts on what they give: read from clang's syntax tree.

A test's evidence for a method is a number, the larger the better:
    ASSERTED    what the call gives is looked at by an assertion of the test: in it, by way of a variable, or through a helper that asserts
    IN_HELPER   the same inside a helper that the test calls
    CALLED      the test calls it, and asserts on something else
    AROUND      a helper that the test uses calls it
For a method that applications implement, a call is the library's: the test uses a class that overrides it, and ASSERTED means that
an assertion reads what the override has written, or is part of the override itself.
"""

import collections
import re

from test_sources import ROOT, dump, text_of

AROUND, CALLED, IN_HELPER, ASSERTED = 1, 2, 3, 4
API = re.compile(r"(?:const )?((?:nvinfer1|nvonnxparser)::[\w:]+)(?: const)?[ *&]*$")
Call = collections.namedtuple("Call", "owner name types constant")


def type_of(node):
    type_ = node.get("type", {})
    return type_.get("desugaredQualType", type_.get("qualType", ""))


def plain(text):
    """A type without what tells a value from a reference."""
    return re.sub(r"\s*[&]+$", "", re.sub(r"^const ", "", text.strip())).removesuffix(" const").strip()


def local(text):
    """A class of the file by its name alone."""
    return re.sub(r"<.*>", "", plain(text).rstrip(" *")).rpartition("::")[2]


class Function:
    """What a function of a test file calls, of the API and of the file."""

    def __init__(self, name):
        self.name = name
        self.calls = {}          # Call -> whether an assertion of this function looks at it
        self.helpers = {}        # id of a function -> Calls whose results go into it
        self.classes = set()     # classes of the file that it makes or holds
        self.returns = set()     # Calls whose results it returns
        self.asserts = False
        self.fields = collections.defaultdict(set)  # field -> Calls that gave it its value
        self.writes = set()      # fields that it touches
        self.reads = set()       # fields that its assertions look at


class Class:
    def __init__(self, name):
        self.name, self.bases, self.functions, self.overrides = name, [], [], {}


class File:
    """The functions, classes and tests of one source. nodes: the declarations of its namespace, in it and in headers."""

    def __init__(self, file, nodes):
        self.functions, self.classes, self.same, self.tests = {}, {}, {}, {}
        names = {f"{suite}_{name}_Test": f"{suite}.{name}"
                 for suite, name in re.findall(r"^(?:TYPED_)?TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", text_of(file), re.M)}
        for node in nodes:
            self.scope({"kind": "", "inner": [node]}, None)
        for name, class_ in self.classes.items():
            if name.rpartition("::")[2] in names:
                self.tests[names[name.rpartition("::")[2]]] = class_

    def scope(self, node, owner):
        for child in node.get("inner", []):
            kind = child.get("kind", "")
            if kind in ("NamespaceDecl", "FunctionTemplateDecl", "ClassTemplateDecl"):
                self.scope(child, owner)
            elif kind in ("CXXRecordDecl", "ClassTemplateSpecializationDecl") and child.get("completeDefinition"):
                self.record(child)
            elif kind in ("FunctionDecl", "CXXMethodDecl", "CXXConstructorDecl", "CXXDestructorDecl", "CXXConversionDecl"):
                self.function(child, owner)
            elif kind == "VarDecl":
                self.function({**child, "inner": [child]}, owner)

    def record(self, node):
        class_ = self.classes.setdefault(node.get("name", node["id"]), Class(node.get("name", "")))
        class_.bases += [plain(base["type"].get("desugaredQualType", base["type"]["qualType"])) for base in node.get("bases", [])]
        for child in node.get("inner", []):
            if child.get("kind") in ("CXXMethodDecl", "CXXConstructorDecl", "CXXDestructorDecl", "FunctionTemplateDecl",
                                     "CXXRecordDecl"):
                self.scope({"kind": "", "inner": [child]}, class_)
            elif child.get("kind") == "FieldDecl":  # its initializer runs with the constructor
                self.function({**child, "name": "field", "inner": [child]}, class_)

    def function(self, node, owner):
        first = self.same.get(node.get("previousDecl"), node.get("previousDecl")) or node["id"]
        self.same[node["id"]] = first
        function = self.functions.setdefault(first, Function(node.get("name", "")))
        Body(self, function).read(node)
        if owner and function not in owner.functions:
            owner.functions.append(function)
            if any(inner.get("kind") == "OverrideAttr" for inner in node.get("inner", [])):
                parameters = tuple(type_of(inner) for inner in node["inner"] if inner.get("kind") == "ParmVarDecl")
                owner.overrides.setdefault((function.name, parameters, "const" in node["type"]["qualType"].rpartition(")")[2]), function)


class Body:
    """Walks through one function."""

    def __init__(self, file, function):
        self.file, self.function = file, function
        self.variables = collections.defaultdict(set)  # variable -> Calls that gave it its value
        self.asserted = set()                          # variables that assertions look at
        self.returned = set()
        self.lambdas = set()                           # variables that are functions which assert
        self.aliases = {}                              # names of classes that the function makes up

    def read(self, node):
        self.walk(node, False)
        for variable in self.asserted:
            for call in self.variables[variable]:
                self.function.calls[call] = True
        self.function.returns |= self.returned

    def walk(self, node, asserted):
        """Returns the calls of the API inside the node."""
        kind = node.get("kind", "")
        if kind == "VarDecl":
            return self.variable(node, asserted)
        if kind in ("TypeAliasDecl", "TypedefDecl"):
            self.aliases[node.get("name", "")] = type_of(node)
        inside = set()
        if kind in ("CallExpr", "CXXMemberCallExpr"):
            inside |= self.helper_call(node, asserted)
        if kind == "CXXMemberCallExpr":
            inside |= self.member_call(node, asserted)
        elif kind in ("DeclRefExpr", "MemberExpr"):
            inside |= self.reference(node, asserted)
        elif kind in ("CXXConstructExpr", "CXXTemporaryObjectExpr"):
            inside |= self.construct(node, asserted)
        for child in node.get("inner", []):
            inside |= self.walk(child, asserted)
        if kind in ("CallExpr", "CXXMemberCallExpr", "CXXOperatorCallExpr", "CXXConstructExpr") and inside:
            self.into_helper(node, inside)
        if kind == "BinaryOperator" and node.get("opcode") == "=":
            self.assigned(node, inside)
        if kind == "CXXOperatorCallExpr" and self.of_lambda(node):
            for call in inside:
                self.note(call, True)
        if kind == "ReturnStmt":
            self.returned |= inside
        return inside

    def variable(self, node, asserted):
        here = node.get("name", "").startswith("gtest_ar")
        before, self.function.asserts = self.function.asserts, here
        self.function.classes.add(local(type_of(node)))
        inside = set()
        for child in node.get("inner", []):
            inside |= self.walk(child, asserted or here)
        self.variables[node["id"]] |= inside
        if self.function.asserts and not here:
            self.lambdas.add(node["id"])
        self.function.asserts |= before
        return inside

    def of_lambda(self, node):
        """Whether what is called is a function of this function's own that asserts."""
        called = node.get("inner", [])[1:2]
        while called and called[0].get("kind") == "ImplicitCastExpr":
            called = called[0]["inner"][:1]
        return bool(called) and called[0].get("referencedDecl", {}).get("id") in self.lambdas

    def note(self, call, asserted):
        self.function.calls[call] = self.function.calls.get(call, False) or asserted
        return {call}

    def helper_call(self, node, asserted):
        """A call of a function of the file stands for what that function returns."""
        id_ = callee(node)
        return self.note(Call(None, id_, (), False), asserted) if id_ else set()

    def member_call(self, node, asserted):
        member = node["inner"][0]
        while member.get("kind") == "ParenExpr":
            member = member["inner"][0]
        if member.get("kind") != "MemberExpr" or not member.get("inner"):
            return set()
        object_ = type_of(member["inner"][0])
        object_ = re.sub(r"^(const )?(\w+)\b", lambda at: (at[1] or "") + self.aliases.get(at[2], at[2]), object_)
        found = API.match(object_)
        if not found:
            return set()
        types = tuple(plain(type_of(argument)) for argument in node["inner"][1:])
        return self.note(Call(found.group(1), member["name"], types, object_.startswith("const ")), asserted)

    def construct(self, node, asserted):
        name = plain(type_of(node))
        self.function.classes.add(local(name))
        if not API.match(name):
            return set()
        types = tuple(plain(type_of(argument)) for argument in node.get("inner", []))
        return self.note(Call(name, "constructor", types, False), asserted) if types else set()

    def reference(self, node, asserted):
        declared = node.get("referencedDecl", {})
        name = declared.get("name", node.get("name", ""))
        if node["kind"] == "MemberExpr":
            (self.function.reads if asserted else self.function.writes).add(name)
            self.function.helpers.setdefault(node.get("referencedMemberDecl"), set())
            for inner in node.get("inner", []):
                self.function.classes.add(local(type_of(inner)))
        elif declared.get("kind") in ("FunctionDecl", "CXXMethodDecl"):
            self.function.helpers.setdefault(declared["id"], set())
            types = tuple(plain(text) for text in split_types(declared["type"]["qualType"]))
            return self.note(Call("", name, types, False), asserted)
        elif declared.get("kind") in ("VarDecl", "BindingDecl", "ParmVarDecl"):
            self.function.helpers.setdefault(declared["id"], set())
            self.function.classes.add(local(type_of(node)))
            if asserted:
                self.asserted.add(declared["id"])
        return set()

    def into_helper(self, node, inside):
        if id_ := callee(node):
            self.function.helpers.setdefault(id_, set()).update(inside)
        if node["kind"] == "CXXConstructExpr":
            self.function.helpers.setdefault("class " + local(type_of(node)), set()).update(inside)

    def assigned(self, node, inside):
        left = node["inner"][0]
        if left.get("kind") == "DeclRefExpr":
            self.variables[left["referencedDecl"]["id"]] |= inside
        elif left.get("kind") == "MemberExpr":
            self.function.fields[left.get("name", "")] |= inside


def callee(node):
    child = next(iter(node.get("inner", [])), {})
    while child.get("kind") in ("ImplicitCastExpr", "ParenExpr"):
        child = child["inner"][0]
    return child.get("referencedDecl", {}).get("id") or child.get("referencedMemberDecl")


def split_types(function_type):
    inside = function_type[function_type.index("(") + 1:function_type.rindex(")")] if "(" in function_type else ""
    return [part.strip() for part in inside.split(",") if part.strip()]


def reached(file, test):
    """The functions that a test runs, itself first."""
    own = [function for function in test.functions if function.name == "TestBody"]
    functions, classes, waiting = [], set(), list(own)
    bases = list(test.bases)
    while waiting or bases:
        while bases:
            name = local(bases.pop())
            if name in file.classes and name not in classes:
                classes.add(name)
                bases += file.classes[name].bases
                waiting += file.classes[name].functions
        if not waiting:
            break
        function = waiting.pop()
        if function in functions:
            continue
        functions.append(function)
        waiting += [file.functions[file.same[id_]] for id_ in function.helpers if id_ in file.same]
        bases += function.classes
    return own, functions, classes


def evidence(unit):
    """(test, Call, strength) of a unit; an override of a class's is a Call whose owner is a list of its bases."""
    nodes = list(dump(unit))
    sources = {str(ROOT / file) for file in unit.files}
    for file in unit.files:
        yield from evidence_of(File(file, [node for where, node in nodes if where == str(ROOT / file) or where not in sources]))


def evidence_of(file):
    for name, test in file.tests.items():
        own, functions, classes = reached(file, test)
        if not any(function.asserts for function in functions):
            continue
        asserting = {id_ for id_, first in file.same.items() if file.functions[first].asserts}
        read = set().union(*(function.reads for function in functions))
        for function in functions:
            through = set().union(*(calls for id_, calls in function.helpers.items()
                                    if id_ in asserting or asserts_class(file, id_)), set())
            through |= set().union(*(calls for field, calls in function.fields.items() if field in read), set())
            for call, asserted in function.calls.items():
                asserted = asserted or call in through
                strength = (ASSERTED if asserted else CALLED) if function in own else IN_HELPER if asserted else AROUND
                for real in given(file, call):
                    yield name, real, strength
        for class_ in classes:
            yield from overridden(file, name, file.classes[class_], read)


def given(file, call, seen=()):
    """The call itself, or, of a function of the file, the calls whose results that returns."""
    if call.owner is not None:
        yield call
    elif call.name in file.same and call.name not in seen:
        for inner in file.functions[file.same[call.name]].returns:
            yield from given(file, inner, (*seen, call.name))


def asserts_class(file, id_):
    return str(id_).startswith("class ") and id_[6:] in file.classes and any(f.asserts for f in file.classes[id_[6:]].functions)


def overridden(file, test, class_, read):
    bases, waiting = [], list(class_.bases)
    while waiting:
        base = waiting.pop()
        own = file.classes.get(local(base))
        bases += [] if own else [base]
        waiting += own.bases if own else []
    for (name, types, constant), function in class_.overrides.items():
        strong = function.asserts or bool((function.writes | function.reads) & read)
        yield test, Call(tuple(bases), name, tuple(plain(text) for text in types), constant), ASSERTED if strong else CALLED
