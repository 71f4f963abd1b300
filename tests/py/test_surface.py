"""The public headers offer what TensorRT's offer, at both levels."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WOOTZ_BUILD_DIR", ROOT / "build" / "release")).resolve()
sys.path.insert(0, str(ROOT / "tools/api"))
import coverage  # noqa: E402
import slots  # noqa: E402
import surface  # noqa: E402

WANTED = surface.read_list((ROOT / "tests/api_headers/surface_10.16.txt").read_text())


@pytest.mark.parametrize("level", ["10", "11"])
def test_headers_offer_the_listed_surface(level):
    done = subprocess.run([sys.executable, ROOT / "tools/api/surface.py", "--level", level], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


CHANGES = [  # file, what stands there, what stands there then, what the tool says
    ("layer.h", "virtual int32_t getNbInputs() const noexcept = 0;", "", "missing nvinfer1::ILayer::getNbInputs() const"),
    ("layer.h", "virtual int32_t getNbInputs() const", "virtual int32_t getNbInputs()", "extra nvinfer1::ILayer::getNbInputs()"),
    ("layer.h", "kNMS = 43", "kNMS = 143", "different enum nvinfer1::LayerType"),
    ("layer.h", "kVALUE = 57", "kVALUE = 56", "different number of values of nvinfer1::LayerType"),
    ("parser.h", "const char* model_path = nullptr) noexcept = 0;", "const char* model_path) noexcept = 0;",
     "different nvonnxparser::IParser::parse"),
    ("profiler.h", "float ms) noexcept = 0;", "float ms) noexcept {}", "different nvinfer1::v_1_0::IProfiler::reportLayerTime"),
    ("dims.h", "int32_t nbDims;", "int64_t nbDims;", "different nvinfer1::Dims64::nbDims"),
    ("host_memory.h", "class IHostMemory : public INoCopy {\n public:", "class IHostMemory : public INoCopy {\n public:\n  void more();",
     "extra nvinfer1::IHostMemory::more()"),
]


@pytest.fixture(scope="module")
def differences(tmp_path_factory):
    """What is said of changed headers: all together, but for the first, which changes what the second does."""
    said = []
    for part, changes in enumerate((CHANGES[1:], CHANGES[:1])):
        include = tmp_path_factory.mktemp(f"part{part}") / "include"
        shutil.copytree(ROOT / "include", include)
        for name, old, new, _ in changes:
            file = include / "wootz" / name
            text = file.read_text()
            assert old in text
            file.write_text(text.replace(old, new, 1))
        found = surface.read_headers(["NvOnnxParser.h", "NvInferPlugin.h"], 10, include)
        said.append(list(surface.differences(WANTED, found)))
    return said


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change[3].split(" ", 1)[0] + "_" + change[0])
def test_what_differs_is_named(change, differences):
    said = differences[1 if change is CHANGES[0] else 0]
    assert any(line.startswith(change[3]) for line in said)


def test_objects_have_one_table_of_functions_at_both_levels():
    ten, eleven = (slots.tables(level, ROOT / "include") for level in (10, 11))
    assert len(ten.keys() & eleven.keys()) > 120
    for name in sorted(ten.keys() & eleven.keys()):
        assert ten[name] == eleven[name], name
    # What is one level's alone is no class of the library's own.
    only = {name for name in ten.keys() ^ eleven.keys() if not re.search(r"IInt8|IAlgorithm", name)}
    assert only == set()


def test_every_method_has_a_test_and_every_setting_an_effect():
    table = coverage.written(coverage.TABLE.read_text())
    assert [*coverage.empty(table, coverage.methods()), *coverage.effects()] == []


def test_what_the_table_lacks_is_named():
    table = coverage.written(coverage.TABLE.read_text())
    method = ("nvinfer1::IActivationLayer", "setAlpha(float)")
    without = {**table, method: []}
    assert list(coverage.empty(without, coverage.methods())) == ["no test: nvinfer1::IActivationLayer::setAlpha(float)"]
    nobody = {**table, method: [coverage.Test("api_e2e", "Nobody.Knows", "cpu")]}
    assert any("no such test: Nobody.Knows" in line for line in coverage.empty(nobody, coverage.methods()))


def test_the_tests_of_a_file_are_read_from_its_syntax_tree(tmp_path):
    build = BUILD
    unit = next(unit for unit in coverage.test_sources.units(build) if "tests/api/layer_settings_window_test.cpp" in unit.files)
    best = {}
    for test, call, strength in coverage.test_calls.evidence(unit):
        best[test, call.name] = max(strength, best.get((test, call.name), 0))
    assert best["WindowSettings.Padding", "getPrePaddingNd"] == coverage.ASSERTED
    assert best["WindowSettings.RefusalsNameTheLayer", "setStrideNd"] == coverage.CALLED
    assert ("WindowSettings.Padding", "setDilationNd") not in best


def test_what_a_source_shows_is_kept_until_it_changes(tmp_path, monkeypatch):
    kept, calls = coverage.kept, coverage.test_calls
    kept.folder.cache_clear()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    read, found = [], {("Suite.Name", calls.Call(("nvinfer1::ILogger",), "log", ("int", "char const*"), False), calls.ASSERTED),
                       ("Suite.Name", calls.Call(None, "0x1", (), False), calls.CALLED)}
    monkeypatch.setattr(calls, "evidence", lambda unit: read.append(unit) or found)
    source = tmp_path / "some_test.cpp"
    source.write_text("int one;\n")
    unit = coverage.test_sources.Unit((str(source),), "some_test", 10, [])
    assert [kept.evidence(unit), kept.evidence(unit)] == [found, found] and len(read) == 1
    source.write_text("int one;  // a comment says nothing of calls\n")
    assert kept.evidence(unit) == found and len(read) == 1
    source.write_text("int two;\n")
    assert kept.evidence(unit) == found and len(read) == 2
    for file in (tmp_path / "cache/wootz/tests").glob("*.json"):
        file.write_text('[["damaged"')
    assert kept.evidence(unit) == found and len(read) == 3
    kept.folder.cache_clear()


@pytest.mark.slow
def test_each_test_of_the_table_asserts_on_its_method():
    done = subprocess.run([sys.executable, ROOT / "tools/api/coverage.py", BUILD], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stdout + done.stderr


BRINGS = [("NvInferPlugin.h", "nvinfer1::plugin::PriorBoxParameters"), ("NvInferRuntime.h", "nvinfer1::Dims3"),
          ("NvInferRuntimeBase.h", "cudaStream_t"), ("NvOnnxParser.h", "nvinfer1::IBuilder*")]
GUARDS = ["NV_INFER_H", "NV_INFER_IMPL_H", "NV_INFER_LEGACY_DIMS_H", "NV_INFER_PLUGIN_BASE_H", "NV_INFER_RUNTIME_BASE_H",
          "NV_INFER_RUNTIME_COMMON_H", "NV_INFER_RUNTIME_H", "NV_INFER_RUNTIME_PLUGIN_H", "NV_INFER_VERSION_H", "NV_ONNX_PARSER_H"]


@pytest.mark.parametrize("level", ["10", "11"])
def test_headers_bring_what_programs_take_for_granted(level, tmp_path):
    sources = [f"#include <{header}>\n{name} v{{}};\n" for header, name in BRINGS]
    sources.append("#include <NvOnnxParser.h>\n#include <NvInferImpl.h>\n" +
                   "".join(f"#ifndef {guard}\n#error {guard}\n#endif\n" for guard in GUARDS))
    for source in sources:
        (tmp_path / "one.cpp").write_text(source)
        done = subprocess.run(["clang-14", "-std=c++14", "-fsyntax-only", f"-I{ROOT}/include", f"-DWOOTZ_TENSORRT_API={level}",
                               "-DWOOTZ_NO_CUDA_HEADERS", tmp_path / "one.cpp"], capture_output=True, text=True)
        assert done.returncode == 0, source + done.stderr
