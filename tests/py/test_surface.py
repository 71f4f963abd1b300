"""The public headers offer what TensorRT's offer, at both levels."""

import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/api"))
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


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change[3].split(" ", 1)[0] + "_" + change[0])
def test_what_differs_is_named(change, tmp_path):
    name, old, new, message = change
    include = tmp_path / "include"
    shutil.copytree(ROOT / "include", include)
    file = include / "wootz" / name
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    found = surface.read_headers(["NvOnnxParser.h", "NvInferPlugin.h"], 10, include)
    assert any(line.startswith(message) for line in surface.differences(WANTED, found))
