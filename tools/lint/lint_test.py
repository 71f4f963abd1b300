"""Each lint rule fails on a made-up bad tree and passes on a good one."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import circles
import functions
import lint
import unnamed_functions
import words

HEADER = """namespace w {
struct Tile { int is_float(Type t); };
constexpr bool is_float(const Type& type, bool narrow = f(1, 2)) { return type < (narrow ? 1 : 2); }
Function<bool(int)> reads(Map<int, int> a,
                               Type b);
}
"""

GOOD = {
    "layers.txt": "include:\nbase:\nir: base\nops: base ir\npasses: base ir ops | backends/cpu\nbackends/cpu: base | ops\n",
    "include/NvInfer.h": "",
    "src/base/status.h": "#pragma once\n",
    "src/ir/graph.cpp": '#include "base/status.h"\n#include "ir/graph.h"\n#include <vector>\n',
    "src/ops/ops.def": "// MODULE(name): the ops\nMODULE(matmul)\nMODULE(TopK, extra)\n",
    "src/ops/matmul/matmul.cpp": "Status reference();\n",
    "src/ops/matmul/matmul_test.cpp": "TEST\n",
    "src/ops/top_k/top_k.cpp": "op.reference = f;\n",
    "src/ops/top_k/top_k_test.cpp": "TEST\n",
    "src/passes/passes.def": "PASS(fold_constants)\nRUN(fold_constants)\n",
    "src/passes/canonicalize/fold_constants.cpp": "\n",
    "src/passes/canonicalize/fold_constants.test": "\n",
    "src/backends/cpu/gemm/kernels.inc": "WOOTZ_KERNEL(gemm_f32_tiled_avx2)\n",
    "src/backends/cpu/gemm/gemm_f32_tiled_avx2.cpp": "const KernelEntry gemm_f32_tiled_avx2{Family::kGemm, 1};\n",
    "src/backends/cpu/gemm/gemm_test.cpp": '#include "ops/op_def.h"\n',
    "src/backends/cpu/made/kernels.inc": "KERNEL(.family = Family::kTopK, .name = \"topk_generated\")\n",
    "tests/kernels/problems/gemm.problems": "=== large [bench]\n",
    "tests/kernels/problems/topk.problems": "=== large [bench]\n",
}

# name: (changes to the good tree, None deletes; a part of the finding)
BAD = {
    "a standard name without its header": ({"src/ir/graph.cpp": "std::vector<int> v;\n"}, "std::vector without #include <vector>"),
    "forbidden include": ({"src/base/status.h": '#include "ir/graph.h"\n'}, "base must not include ir"),
    "test allowance is for tests": (
        {"src/backends/cpu/gemm/gemm_f32_tiled_avx2.cpp": '#include "ops/op_def.h"\n// gemm_f32_tiled_avx2\n'},
        "backends/cpu must not include ops",
    ),
    "parameter by name": (
        {"src/passes/canonicalize/fold_constants.cpp": 'if (problem.get_int("strides") != 0) return;\n'},
        "a parameter by its name",
    ),
    "parameter set by name": ({"src/passes/canonicalize/fold_constants.cpp": 'p.params["axis"] = 1;\n'}, "a parameter by its name"),
    "relative include": ({"src/ir/graph.cpp": '#include "../base/status.h"\n'}, "is relative"),
    "include beside": ({"src/ir/graph.cpp": '#include "graph.h"\n', "src/ir/graph.h": ""}, "is relative"),
    "public header below the api": ({"src/ir/graph.cpp": "#include <NvInfer.h>\n"}, "ir must not include include"),
    "public name below the api": ({"src/ir/graph.cpp": "nvinfer1::Dims d;\n"}, "src/ir/graph.cpp:1: public_names: nvinfer1"),
    "two headers in a circle": (
        {"src/ir/a.h": '#include "ir/b.h"\n', "src/ir/b.h": '#include "ir/a.h"\n'},
        "src/ir/a:1: circles: these include each other: ir/a, ir/b",
    ),
    "a circle by way of a source file": (
        {"src/ir/a.h": "", "src/ir/a.cpp": '#include "ir/b.h"\n', "src/ir/b.h": '#include "ir/c.h"\n',
         "src/ir/c.h": '#include "ir/a.h"\n'},
        "these include each other: ir/a, ir/b, ir/c",
    ),
    "file of no layer": ({"src/misc/util.cpp": "\n"}, "belongs to no layer"),
    "table out of order": ({"layers.txt": "ir: base\nbase:\nops: ir\npasses:\nbackends/cpu: | ops\n"}, "stands not above"),
    "bad table line": ({"layers.txt": "base\n"}, "not of the form"),
    "no table": ({"layers.txt": None}, "table is missing"),
    "long file": ({"src/ir/graph.cpp": "//\n" * 801}, "801 lines"),
    "long function": ({"src/ir/graph.cpp": "void f() {\n" + "  g();\n" * 60 + "}\n"}, "src/ir/graph.cpp:1: function: 62 lines"),
    "long Python function": ({"tools/a.py": "def f():\n" + "    g()\n" * 60}, "tools/a.py:1: function: 61 lines"),
    "a word of ours": ({"src/ir/graph.cpp": "// One room.\n"}, "src/ir/graph.cpp:1: words: 'room': say module"),
    "a word of ours in a macro": ({"src/ir/graph.cpp": "int a;\n#define ROOM(x) x\n"}, "src/ir/graph.cpp:2: words: 'ROOM'"),
    "a word of ours in a file's name": ({"src/ir/room_table.h": ""}, "src/ir/room_table.h:1: words: 'room'"),
    "a type's name twice": (
        {"src/ir/a.h": "namespace w {\nstruct Window {\n  int a;\n};\n}\n",
         "src/ops/b.cpp": "namespace w {\nclass Window final : public A {\n};\n}\n"},
        "src/ops/b.cpp:2: one_type: w::Window is defined at src/ir/a.h:2 as well"),
    "a function of a header's name": (
        {"src/base/type.h": HEADER, "src/ir/a.h": '#include "base/type.h"\n',
         "src/ir/a.cpp": '#include "ir/a.h"\nnamespace w::v {\nnamespace {\n// Is it?\nbool is_float(Type t) { return t == 1; }\n}\n}\n'},
        "src/ir/a.cpp:5: unnamed_functions: is_float is declared for the same arguments in src/base/type.h:3"),
    "op without module": ({"src/ops/ops.def": "OP(matmul)\nOP(TopK)\nOP(softmax)\n"}, "no module src/ops/softmax/"),
    "op twice": ({"src/ops/ops.def": "OP(matmul)\nOP(TopK)\nOP(matmul)\n"}, "stands twice"),
    "module without op": ({"src/ops/ops.def": "OP(matmul)\n"}, "src/ops/top_k:1: ops: the module has no line"),
    "op without test": ({"src/ops/matmul/matmul_test.cpp": None}, "has neither *_test.cpp nor"),
    "op without reference": ({"src/ops/matmul/matmul.cpp": "\n"}, "defines no reference"),
    "kernel without file": (
        {"src/backends/cpu/gemm/kernels.inc": "K(gemm_f32_x)\nK(gemm_f32_tiled_avx2)\n"}, "is in no source file"),
    "kernel without line": ({"src/backends/cpu/gemm/kernels.inc": ""}, "gemm_f32_tiled_avx2 is in no kernels.inc"),
    "family without problems": ({"tests/kernels/problems/topk.problems": None}, "family TopK has no tests/kernels"),
    "family without benchmark": ({"tests/kernels/problems/gemm.problems": "=== small\n"}, "no problem marked [bench]"),
    "pass without file": ({"src/passes/canonicalize/fold_constants.cpp": None}, "has no fold_constants.cpp"),
    "pass without test": ({"src/passes/canonicalize/fold_constants.test": None}, "has neither fold_constants.test"),
    "pass without turn": ({"src/passes/passes.def": "PASS(fold_constants)\n"}, "never runs"),
    "test without pass": ({"src/passes/other.test": "\n"}, "no pass of passes.def"),
}


def tree(root: pathlib.Path, changes: dict) -> pathlib.Path:
    for path, text in {**GOOD, **changes}.items():
        if text is None:
            continue
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


def test_good_tree_passes(tmp_path):
    assert lint.run(tree(tmp_path, {})) == ([], [])


@pytest.mark.parametrize("name", BAD)
def test_bad_tree_fails(name, tmp_path):
    changes, finding = BAD[name]
    errors, _ = lint.run(tree(tmp_path, changes))
    assert len(errors) == 1 or name in ("table out of order", "bad table line"), errors
    assert any(finding in error for error in errors), errors


def test_known_circles_pass_while_they_are_there(tmp_path):
    root = tree(tmp_path, {"src/ir/a.h": '#include "ir/b.h"\n', "src/ir/b.h": '#include "ir/a.h"\n'})
    assert circles.check(root, (frozenset({"ir/a", "ir/b"}),)) == ([], [])
    (root / "src/ir/b.h").write_text("")
    errors, warnings = circles.check(root, (frozenset({"ir/a", "ir/b"}),))
    assert not errors and warnings == ["tools/lint/circles.py:1: circles: known, and no more: ir/a, ir/b"]


def test_includes_that_meet_again_are_no_circle(tmp_path):
    changes = {"src/ir/a.h": '#include "ir/b.h"\n#include "ir/c.h"\n', "src/ir/b.h": '#include "ir/c.h"\n', "src/ir/c.h": "",
               "src/ir/c_test.cpp": '#include "ir/a.h"\n'}
    assert lint.run(tree(tmp_path, changes)) == ([], [])


def test_types_that_do_not_meet_may_have_one_name(tmp_path):
    texts = ("namespace w {\nstruct A {};\n}\n", "namespace v {\nstruct A {};\n}\n", "namespace w {\nnamespace {\nstruct A {};\n}\n}\n",
             "namespace w {\nstruct A;\nstruct B::A {};\nvoid f() {\n  struct A {};\n}\n// struct A {\n}\n",
             "namespace w {\ntemplate <>\nstruct A<int> {};\n}\n")
    changes = {f"src/ir/file{i}.cpp": text for i, text in enumerate(texts)}
    assert lint.run(tree(tmp_path, changes)) == ([], [])


@pytest.mark.parametrize(
    "text",
    {
        "another space": "namespace v {\nnamespace {\nbool is_float(Type t) { return t == 1; }\n}\n}\n",
        "a name of its own space": "namespace w {\nbool is_float(Type t) { return t == 1; }\n}\n",
        "other arguments": "namespace w {\nnamespace {\nbool is_float(const Node& n);\nbool reads(Map<int, int> a);\n}\n}\n",
        "more arguments": "namespace w {\nnamespace {\nbool is_float(Type t, bool b, int c) { return t == 1; }\n}\n}\n",
        "a method": "namespace w {\nnamespace {\nstruct A {\n  bool is_float(Type t) { return t == 1; }\n};\n}\n}\n",
        "a call": "namespace w {\nnamespace {\nbool f(Type t) { return is_float(t); }\nconst bool b = is_float(Type(1));\n}\n}\n",
        "after the unnamed space": "namespace w {\nnamespace {\nint a;\n}\nbool is_float(const Type t);\n}\n",
    }.values(),
)
def test_functions_that_are_told_apart_may_have_one_name(text, tmp_path):
    assert lint.run(tree(tmp_path, {"src/base/type.h": HEADER, "src/ir/a.cpp": '#include "base/type.h"\n' + text})) == ([], [])


def test_functions_of_headers_that_are_not_read_are_no_matter(tmp_path):
    text = "namespace w {\nnamespace {\nbool is_float(Type t) { return t == 1; }\n}\n}\n"
    assert lint.run(tree(tmp_path, {"src/base/type.h": HEADER, "src/ir/a.cpp": text})) == ([], [])


@pytest.mark.parametrize(
    "text",
    ("bool is_float(Type t, bool n) {", "template <class T>\nbool is_float(Type, T = 1) {", "[[nodiscard]] static bool is_float(const Type type);",
     "Vector<int> reads(const Map<int, int>& a, Type) {"),
)
def test_same_arguments_are_found(text):
    (own,) = unnamed_functions.declared("namespace w {\nnamespace {\n" + text + "}\n}\n" * (1 + text.endswith("{")))
    others = [f for f in unnamed_functions.declared(HEADER) if f.name == own.name]
    assert any(unnamed_functions.same_arguments(own, other) for other in others), (own, others)


def test_long_file_warns_first(tmp_path):
    errors, warnings = lint.run(tree(tmp_path, {"src/ir/graph.cpp": "//\n" * 401}))
    assert not errors and "401 lines" in warnings[0]


@pytest.mark.parametrize("head", ["// Why so long: one table.\n"])
def test_a_reason_silences_the_warning(head, tmp_path):
    assert lint.run(tree(tmp_path, {"src/ir/graph.cpp": head + "//\n" * 500})) == ([], [])


def test_tables_and_generated_files_may_be_long(tmp_path):
    changes = {"src/ir/big.inc": "//\n" * 2000, "src/ir/made.h": "// @generated\n" + "//\n" * 2000}
    assert lint.run(tree(tmp_path, changes)) == ([], [])


LINES = "  g();\n" * 60


@pytest.mark.parametrize(
    "text, at",
    {
        "a method": ("namespace a {\nclass B {\n public:\n  int f(int x) const override {\n" + LINES + "  }\n};\n}\n", 4),
        "a template": ("template <typename T>\nvoid f(T x) {\n" + LINES + "}\n", 1),
        "a head of two lines": ("int a;\n// Why.\nvoid f(int a,\n       int b) {\n" + LINES + "}\n", 3),
        "after a list of initializers": ("B::B() : a_{1}, c_(2) {\n" + LINES + "}\n", 1),
        "after braces that are no code": ("const char* s = \"{\";  // {\n/* { */ auto r = R\"(})\";\nvoid f() {\n" + LINES + "}\n", 3),
        "a lambda in a call": ("void f() {\n  h([&] {\n" + LINES + "  });\n}\n", 1),
    }.values(),
)
def test_long_functions_are_found(text, at):
    (finding,), reasons = functions.long_functions("src/ir/a.cpp", text)
    assert finding.startswith(f"src/ir/a.cpp:{at}: ") and not reasons


@pytest.mark.parametrize(
    "text",
    {
        "a table": "const Row kRows[] = {\n" + "  {1, f(2)},\n" * 70 + "};\n",
        "a class": "class A : public B<int(int)> {\n" + "  void f() { g(); }\n" * 70 + "};\n",
        "a namespace": "namespace {\n" + "void f();\n" * 70 + "}\n",
        "a macro": "#define F(x) \\\n" + "  { x \\\n" * 70 + "\n",
    }.values(),
)
def test_what_is_no_function(text):
    assert functions.long_functions("src/ir/a.cpp", text) == ([], [])


def test_a_reason_excuses_a_few_functions(tmp_path):
    long = "// Why so long: one table.\nvoid f() {\n" + LINES + "}\n"
    assert lint.run(tree(tmp_path, {"src/ir/graph.cpp": long})) == ([], [])
    errors, _ = lint.run(tree(tmp_path, {"src/ir/graph.cpp": long * 7, "src/ir/dim.cpp": long * 6}))
    assert len(errors) == 1 and "13 long functions have a reason" in errors[0]


def test_words_end_where_words_end(tmp_path):
    text = "// A classroom, mushrooms.\nint headroom, roomy;\n"
    assert lint.run(tree(tmp_path, {"src/ir/graph.cpp": text})) == ([], [])
    assert lint.run(tree(tmp_path, {"src/plan/read.cpp": "// One room.\n", "layers.txt": GOOD["layers.txt"] + "plan: base\n"})) == ([], [])


def test_words_have_folders():
    root = pathlib.Path(__file__).parents[2]
    for word in words.WORDS:
        assert word.term and all((root / folder).is_dir() for folder in word.folders), word
