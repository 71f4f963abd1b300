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
    "constant after braces": ("namespace {\nconstexpr size_t kFirst = size_t{3} << kShift, kLimit = size_t{4} << kShift;\n}\n", "kLimit"),
    "after a default": ("namespace {\nint first(int a = 3) { return a; }\ntemplate <int N = 3>\nint second() { return N; }\nint helper() { return 1; }\n}\n", "helper"),
    "after an operator": ("namespace {\nbool operator==(A, A) { return true; }\nint helper() { return 1; }\n}\n", "helper"),
    "after a lambda": ("namespace {\nconst auto kF = [](int a) { return a; };\nint helper() { return 1; }\n}\n", "helper"),
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
KEPT = ("using-declaration", "macro")  # have no other name


@pytest.mark.parametrize("kind", OWN)
def test_own_names_are_not_met_by_others(kind):
    text, word = OWN[kind]
    own = unity_groups.Source(text)
    assert word in own.own
    assert own.renamed_for(unity_groups.Source(PLAIN)) == set()
    other = unity_groups.Source(PLAIN + f"int g() {{ return object.{word}; }}\n")
    assert own.met_by(other) == {word} and other.met_by(own) == set()
    assert own.fits(other) == other.fits(own) == (kind not in KEPT)
    assert (own.met_by(own) == set()) == (kind in REPEATABLE)


def test_repeated_declarations_agree():
    number = unity_groups.Source("namespace {\nusing Map = std::map<int, int>;\n}\n")
    text = unity_groups.Source("namespace {\nusing Map = std::map<int, Text>;\n}\n")
    function = unity_groups.Source("namespace {\nint Map();\n}\n")
    assert number.met_by(number) == set() and number.met_by(text) == number.met_by(function) == {"Map"}
    assert not unity_groups.Source("#define SIZE 1\n").fits(unity_groups.Source("#define SIZE 2\n"))


def test_words_in_comments_and_quotes_do_not_count():
    own = unity_groups.Source(OWN["function"][0])
    assert not own.met_by(unity_groups.Source(PLAIN + "// helper\n/* helper */ const char* a = \"helper\"; auto b = R\"(helper)\";\n"))
    assert own.met_by(unity_groups.Source("#define X helper\n"))


def test_members_and_locals_are_not_own_names():
    source = unity_groups.Source("namespace {\nstruct Part {\n  int member = 1;\n};\nint f() {\n  int local = 2;\n  return local;\n}\n}\nint g() {\n  static int once = 1;\n  return once;\n}\n")
    assert {"Part", "f"} <= set(source.own) and not {"member", "local"} & set(source.own)


def test_directives_are_shared_or_apart():
    with_directive = unity_groups.Source("using namespace std;\n")
    assert not with_directive.fits(unity_groups.Source(PLAIN))
    assert with_directive.fits(unity_groups.Source("using namespace std;\nint f();\n"))


def test_headers_are_told_the_same():
    told = unity_groups.Source("#define LEVEL 11\n#include \"level.h\"\n")
    assert told.fits(unity_groups.Source("#define LEVEL 11\n#include \"level.h\"\nint f();\n"))
    assert not told.fits(unity_groups.Source("#define LEVEL 10\n#include \"level.h\"\n"))
    assert not told.fits(unity_groups.Source(PLAIN)) and not unity_groups.Source(PLAIN).fits(told)
    assert unity_groups.Source("#include \"a.h\"\n#define X(n)\n#include \"table.def\"\n").fits(unity_groups.Source(PLAIN))


def test_tests_of_one_macro_may_meet():
    assert unity_groups.Source("namespace {\nTEST(A, B) {\n}\n}\n").fits(unity_groups.Source("namespace {\nTEST(A, C) {\n}\n}\n"))


@pytest.mark.parametrize("use", ["std::helper(1)", "object.helper()", "pointer->helper()", "pointer -> helper()", "0; }\nTEST_F(helper, Name) {"])
def test_what_may_be_meant_by_others_keeps_its_name(use):
    own = unity_groups.Source(OWN["function"][0])
    assert unity_groups.Source(OWN["function"][0] + "int g() { return helper(1); }\n").renamed_for(own) == {"helper"}
    assert not unity_groups.Source(OWN["function"][0] + f"int g() {{ return {use}; }}\n").fits(own)


def test_words_of_the_language_are_no_names():
    source = unity_groups.Source("namespace {\nPart part_of(int a, bool b = true);\nconst int kFirst = f(1), kLimit = 2;\n}\n")
    assert {"part_of", "kFirst", "kLimit"} <= set(source.own)
    assert list(unity_groups.Source(OWN["constant after braces"][0]).own) == ["kFirst", "kLimit"]
    assert not {"bool", "int", "const"} & set(source.own)


def test_renamed_files_are_read_behind_all_headers(tmp_path):
    text = '#include "a.h"\n#include <map>\n#include "table.def"\nnamespace {\nint helper;\n}\n'
    sources = {str(tmp_path / name): unity_groups.Source(text) for name in ("a.cpp", "b.cpp")}
    (tmp_path / "made").mkdir()
    (tmp_path / "a.h").touch()
    made = unity_groups.text_of(list(sources), sources, str(tmp_path / "made")).splitlines()
    assert '#include "../a.h"' in made
    head = unity_groups.HEAD.splitlines()
    lines = [line.replace("../", "") for line in made]
    assert lines == [*head, '#include "a.h"', "#include <map>", "#define helper helper_of_0", '#include "a.cpp"', "#undef helper",
                     "#define helper helper_of_1", '#include "b.cpp"', "#undef helper"]
    alone = {name: unity_groups.Source(PLAIN) for name in sources}
    assert unity_groups.text_of(list(alone), alone, str(tmp_path)).splitlines() == [*head, '#include "a.cpp"', '#include "b.cpp"']


def test_headers_under_conditions_are_not_read_before():
    conditional = unity_groups.Source('#if A\n#include "a.h"\n#endif\nnamespace {\nint helper;\n}\n')
    assert not conditional.fits(conditional) and conditional.fits(unity_groups.Source(PLAIN))


def test_groups_have_room_and_order():
    sources = {name: unity_groups.Source(f"namespace {{\nint {name}_own;\n}}\n") for name in "abcdefg"}
    made = unity_groups.groups(sources, 4)
    assert sum(made, []) == list("abcdefg") and max(map(len, made)) <= 4
    clash = unity_groups.Source("namespace {\nint a_own;\n}\nint b = x.a_own;\n")
    assert unity_groups.groups({**sources, "h": clash}, 20) == [list("abcdefg")]


def test_a_new_file_changes_few_groups():
    sources = {f"file_{number:03}": unity_groups.Source(PLAIN) for number in range(200)}
    before = unity_groups.groups(sources, 20)
    after = unity_groups.groups(dict(sorted({**sources, "file_050_new": unity_groups.Source(PLAIN)}.items())), 20)
    assert max(map(len, before)) <= 20 and len(before) <= 16
    assert sum(group not in after for group in before) <= 4
