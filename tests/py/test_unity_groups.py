"""Which files builds compile together (cmake/unity_groups.py): only such as cannot see each other."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "cmake"))
import unity_groups

PLAIN = "namespace n {\nint f() { return 1; }\n}\n"
# What a file has for itself, and a word that another may not use then.
OWN = {
    "function": ("namespace n {\nnamespace {\nstd::vector<int> helper(int x) {\n  return {x};\n}\n}\n}\n", "helper"),
    "declared function": ("namespace {\nint helper(int x);\n}\n", "helper"),
    "template": ("namespace {\ntemplate <typename T, int (*F)(T)>\nT helper(T x) { return x; }\n}\n", "helper"),
    "constant": ("namespace {\nconstexpr int kLimit = 3;\n}\n", "kLimit"),
    "second constant": ("namespace {\nconstexpr int kFirst = 3, kLimit = f(1, 2);\n}\n", "kLimit"),
    "array": ("namespace {\nconst char* kNames[] = {\"a\"};\n}\n", "kNames"),
    "braced constant": ("namespace {\nconst Table kTable{{1}, {2}};\n}\n", "kTable"),
    "struct": ("namespace {\nstruct Part : Base {\n  int x;\n};\n}\n", "Part"),
    "enum": ("namespace {\nenum class Kind { kA };\n}\n", "Kind"),
    "alias": ("namespace {\nusing Map = std::map<int, int>;\n}\n", "Map"),
    "using-declaration": ("namespace n {\nusing other::thing;\n}\n", "thing"),
    "static": ("namespace n {\nstatic int helper() { return 1; }\n}\n", "helper"),
    "macro": ("#define HELPER(x) \\\n  x\n", "HELPER"),
    "after a nested namespace": ("namespace {\nnamespace inner {\nint a;\n}\nint helper() { return 1; }\n}\n", "helper"),
}
REPEATABLE = ("alias", "using-declaration", "macro")  # in the same words


@pytest.mark.parametrize("kind", OWN)
def test_own_names_are_not_met_by_others(kind):
    text, word = OWN[kind]
    own = unity_groups.Source(text)
    assert word in own.own
    assert own.independent(unity_groups.Source(PLAIN))
    other = unity_groups.Source(PLAIN + f"int g() {{ return object.{word}; }}\n")
    assert not own.independent(other) and not other.independent(own)
    assert own.independent(own) == (kind in REPEATABLE)


def test_repeated_declarations_agree():
    number = unity_groups.Source("namespace {\nusing Map = std::map<int, int>;\n}\n")
    text = unity_groups.Source("namespace {\nusing Map = std::map<int, Text>;\n}\n")
    function = unity_groups.Source("namespace {\nint Map();\n}\n")
    assert number.independent(number) and not number.independent(text) and not number.independent(function)
    assert not unity_groups.Source("#define SIZE 1\n").independent(unity_groups.Source("#define SIZE 2\n"))


def test_words_in_comments_and_quotes_do_not_count():
    own = unity_groups.Source(OWN["function"][0])
    assert own.independent(unity_groups.Source(PLAIN + "// helper\n/* helper */ const char* a = \"helper\"; auto b = R\"(helper)\";\n"))
    assert not own.independent(unity_groups.Source("#define X helper\n"))


def test_members_and_locals_are_not_own_names():
    source = unity_groups.Source("namespace {\nstruct Part {\n  int member = 1;\n};\nint f() {\n  int local = 2;\n  return local;\n}\n}\nint g() {\n  static int once = 1;\n  return once;\n}\n")
    assert {"Part", "f"} <= set(source.own) and not {"member", "local"} & set(source.own)


def test_directives_are_shared_or_apart():
    with_directive = unity_groups.Source("using namespace std;\n")
    assert not with_directive.independent(unity_groups.Source(PLAIN))
    assert with_directive.independent(unity_groups.Source("using namespace std;\nint f();\n"))


def test_headers_are_told_the_same():
    told = unity_groups.Source("#define LEVEL 11\n#include \"level.h\"\n")
    assert told.independent(unity_groups.Source("#define LEVEL 11\n#include \"level.h\"\nint f();\n"))
    assert not told.independent(unity_groups.Source("#define LEVEL 10\n#include \"level.h\"\n"))
    assert not told.independent(unity_groups.Source(PLAIN)) and not unity_groups.Source(PLAIN).independent(told)
    assert unity_groups.Source("#include \"a.h\"\n#define X(n)\n#include \"table.def\"\n").independent(unity_groups.Source(PLAIN))


def test_tests_of_one_macro_may_meet():
    assert unity_groups.Source("namespace {\nTEST(A, B) {\n}\n}\n").independent(unity_groups.Source("namespace {\nTEST(A, C) {\n}\n}\n"))


def test_groups_have_room_and_order():
    sources = {name: unity_groups.Source(f"namespace {{\nint {name}_own;\n}}\n") for name in "abcde"}
    assert unity_groups.groups(sources, 2) == [["a", "b"], ["c", "d"]]
    clash = unity_groups.Source("namespace {\nint a_own;\n}\n")
    assert unity_groups.groups({**sources, "f": clash}, 8) == [list("abcde")]
