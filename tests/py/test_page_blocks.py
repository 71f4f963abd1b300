"""Blocks of shell, C++ and Python in README.md and docs/ that say what is done with a model, plan or program of the reader's, run as they stand there: each
in a folder that has such things under the names that the block gives them. code_blocks.txt says which blocks are run by other tests."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from test_code_blocks import blocks

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WOOTZ_BUILD_DIR", ROOT / "build" / "release")).resolve()
IMAGES = (4, 3, 8, 8)
BLOCKS = blocks()

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")


def environment(**more):
    return {**os.environ, "WOOTZ_BACKEND": "cpu", "PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": f"{BUILD / 'python'}:{os.environ.get('PYTHONPATH', '')}", "PYTHONDONTWRITEBYTECODE": "1", **more}


def run(command, folder, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300, cwd=folder, env=environment(**more))
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def shell(folder, page, which, before="", **more):
    """Runs a block of shell in the folder, and returns what it printed."""
    return run(["bash", "-euo", "pipefail", "-c", f"{before}\n{BLOCKS[page, 'bash', which]}"], folder, **more)


def save_model(path, nodes, shape, result, **weights):
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    graph = helper.make_graph([helper.make_node(op, inputs.split(), [output], **attributes) for op, inputs, output, attributes in nodes], "page",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, result)],
                              [numpy_helper.from_array(value, name) for name, value in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def save_images(path, shape):
    """Two convolutions of images, with values of the names that the pages have. Two nodes read the first, so that it is there to be seen."""
    rng = np.random.default_rng(1)
    nodes = [("Conv", "x w3", "conv3", {"pads": [1] * 4}), ("Relu", "conv3", "conv3_relu", {}),
             ("MaxPool", "conv3_relu", "pool5", {"kernel_shape": [5, 5], "pads": [2] * 4}), ("Conv", "pool5 w4", "c", {}), ("Add", "c conv3_relu", "y", {})]
    save_model(path, nodes, shape, [shape[0], 16, *shape[2:]], w3=rng.standard_normal((16, 3, 3, 3)).astype(np.float32),
               w4=rng.standard_normal((16, 16, 1, 1)).astype(np.float32) / 4)


def save_rows(path):
    save_model(path, [("MatMul", "x w", "p", {}), ("Relu", "p", "y", {})], ["n", 3], ["n", 2], w=np.ones((3, 2), np.float32))


@pytest.fixture
def folder(tmp_path):
    """What a reader has: a model of images, one input, and samples; and the repository, which is built."""
    save_images(tmp_path / "model.onnx", IMAGES)
    samples = np.random.default_rng(2).standard_normal((8, *IMAGES[1:])).astype(np.float32)
    np.save(tmp_path / "x.npy", samples[:4])
    np.savez(tmp_path / "samples.npz", x=samples)
    (tmp_path / "build").mkdir()
    (tmp_path / "build/release").symlink_to(BUILD)
    for name in ("include", "compat"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def build_plan(folder, name, *flags):
    run(["wootz", "build", "model.onnx", "-o", name, "--no-timing", *flags], folder)


def result_of(folder):
    return np.load(folder / "out/y.npy")


def test_a_model_goes_to_a_plan_and_runs(folder):
    out = shell(folder, "docs/getting-started.md", 2)
    assert result_of(folder).shape == (4, 16, 8, 8) and "ms" in out


def test_a_range_of_shapes(folder):
    save_images(folder / "model.onnx", ("n", 3, 224, 224))
    shell(folder, "docs/getting-started.md", 3)
    run(["wootz", "run", "model.plan", "--shapes", "x:2x3x224x224", "--output-dir", "out"], folder)
    assert result_of(folder).shape == (2, 16, 224, 224)


def test_the_compilers_line_makes_the_example(folder):
    (folder / "example.cpp").write_text(BLOCKS["README.md", "cpp", 1])
    shell(folder, "README.md", 3)
    save_model(folder / "model.onnx", [("Relu", "x", "y", {})], [2, 3], [2, 3])
    assert run(["./example", "model.onnx"], folder, LD_LIBRARY_PATH="").split() == ["1"] * 6


def test_engines_are_compared(folder):
    build_plan(folder, "model.plan")
    out = shell(folder, "docs/command-line.md", 1)
    assert "conv3_relu" in out and "<html" in (folder / "values.html").read_text()


def test_the_programs_of_tensorrts_command_line(folder):
    save_rows(folder / "model.onnx")
    assert shell(folder, "docs/command-line.md", 2).count("PASSED") == 2


def test_reports(folder):
    shell(folder, "docs/inspecting.md", 1)
    assert "<html" in (folder / "model.html").read_text()
    assert json.loads((folder / "model.json").read_text())["layers"]


def test_plans_are_compared(folder):
    build_plan(folder, "before.plan")
    build_plan(folder, "after.plan", "--disable-passes", "all")
    assert "They differ." in (out := shell(folder, "docs/inspecting.md", 2)) and "The same." in out


def test_values_inside_are_written(folder):
    build_plan(folder, "model.plan")
    shell(folder, "docs/inspecting.md", 3)
    assert {"conv3_relu.npy", "pool5.npy", "y.npy"} <= {path.name for path in (folder / "out").iterdir()}
    np.testing.assert_array_equal(np.load(folder / "out/pool5.npy").max(), np.load(folder / "out/conv3_relu.npy").max())


def test_a_model_in_other_types_is_compared(folder):
    shell(folder, "docs/inspecting.md", 4)
    assert "<html" in (folder / "values.html").read_text()


def test_scales_are_found_and_kept(folder):
    shell(folder, "docs/quantization.md", 1)
    assert (folder / "model.scales").stat().st_size and (folder / "model.plan").stat().st_size


def test_a_quantized_model_is_written(folder):
    import onnx

    shell(folder, "docs/quantization.md", 2)
    assert {"QuantizeLinear", "DequantizeLinear"} <= {node.op_type for node in onnx.load(folder / "int8.onnx").graph.node}
    assert "<html" in (folder / "int8.html").read_text()


def test_a_pruned_model_is_written_and_built(folder):
    shell(folder, "docs/quantization.md", 3)
    assert (folder / "sparse.onnx").stat().st_size and (folder / "model.plan").stat().st_size


def test_a_model_with_scales_for_each_row_is_written(folder):
    import onnx
    from test_quantize_dynamic import block

    folder = folder / "rows"
    folder.mkdir()
    block(folder / "model.onnx")
    shell(folder, "docs/quantization.md", 4)
    assert "ReduceMax" in {node.op_type for node in onnx.load(folder / "dynamic.onnx").graph.node}
    run([sys.executable, "-c", "import wootz\n" + BLOCKS["docs/quantization.md", "python", 3] + "assert report['layers_in_format'] > 0"], folder)


def test_python_calibrates_quantizes_and_compares(folder):
    """The blocks of three pages, one after the other: the plan of the first is what the last one compares with."""
    code = ["import numpy as np", "import wootz", "samples = np.load('samples.npz')['x']", BLOCKS["docs/quantization.md", "python", 1],
            "open('model.plan', 'wb').write(plan)", BLOCKS["docs/quantization.md", "python", 2], "assert report",
            BLOCKS["docs/inspecting.md", "python", 1], "assert found",
            "engine = wootz.Runtime(wootz.Logger()).deserialize_cuda_engine(plan)", BLOCKS["docs/memory.md", "python", 1]]
    numbers = [int(word) for word in run([sys.executable, "-c", "\n".join(code)], folder).split()[-3:]]
    assert len(numbers) == 3 and numbers[0] > 0
    assert (folder / "model.scales").exists() and (folder / "int8.onnx").exists()


PROGRAM = """
#include <cstdio>
#include <memory>
#include "NvInfer.h"
#include "NvOnnxParser.h"
#include "wootz/extensions.h"
using namespace nvinfer1;

struct Log : ILogger {
  void log(Severity severity, const char* text) noexcept override {
    if (severity <= Severity::kERROR) std::fprintf(stderr, "%s\\n", text);
  }
};
struct Listener : IDebugListener {
  bool processDebugTensor(const void*, TensorLocation, DataType, const Dims& shape, const char* name, cudaStream_t) override {
    std::printf("%s %d\\n", name, static_cast<int>(shape.d[1]));
    return true;
  }
};

// A context of an engine of the model, with memory for its tensors.
struct Engine {
  Log log;
  std::unique_ptr<IBuilder> builder{createInferBuilder(log)};
  std::unique_ptr<INetworkDefinition> network{builder->createNetworkV2(0)};
  std::unique_ptr<nvonnxparser::IParser> parser{nvonnxparser::createParser(*network, log)};
  std::unique_ptr<IRuntime> runtime{createInferRuntime(log)};
  std::unique_ptr<ICudaEngine> engine;
  std::unique_ptr<IExecutionContext> context;
  float x[4 * 3 * 8 * 8] = {}, y[4 * 16 * 8 * 8] = {};
  Engine() {
    if (!parser->parseFromFile("model.onnx", 1)) std::exit(3);
    std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
    std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
    engine.reset(runtime->deserializeCudaEngine(plan->data(), plan->size()));
    context.reset(engine->createExecutionContext());
    context->setTensorAddress("x", x);
    context->setTensorAddress("y", y);
  }
};
"""

TAPS = """
int main() {
  Engine made;
  IExecutionContext* context = made.context.get();
  Listener listener;
  %s
  return context->enqueueV3(nullptr) ? 0 : 1;
}
"""

# The block's network stays unbuilt, since a processor has no ranks; its context is of another engine.
RANKS = """
int main() {
  Engine made;
  std::unique_ptr<INetworkDefinition> networks(made.builder->createNetworkV2(0));
  INetworkDefinition* network = networks.get();
  IExecutionContext* context = made.context.get();
  ITensor* x = network->addInput("x", DataType::kFLOAT, Dims{1, {4}});
  void* comm = nullptr;
  cudaStream_t stream = nullptr;
  made.y[0] = -1;
  %s
  std::printf("%%d %%g\\n", network->getNbLayers(), made.y[0]);
  return sum != nullptr && sum->getType() == LayerType::kDIST_COLLECTIVE ? 0 : 1;
}
"""


def compiled(folder, program, *flags):
    (folder / "program.cpp").write_text(program)
    libraries = [f"-L{BUILD / 'lib'}", "-lwootz", f"-Wl,-rpath,{BUILD / 'lib'}"]
    run(["g++", "-std=c++20", "-Wall", "-Werror", "-Iinclude", *flags, "program.cpp", *libraries, "-o", "program"], folder)


@needs_compiler
def test_values_are_handed_to_a_listener(folder):
    compiled(folder, PROGRAM + TAPS % BLOCKS["docs/inspecting.md", "cpp", 1])
    assert run(["./program"], folder) == "conv3_relu 16\n"


@needs_compiler
def test_layers_of_ranks(folder):
    compiled(folder, PROGRAM + RANKS % BLOCKS["docs/gpu.md", "cpp", 1])
    assert run(["./program"], folder).startswith("1 0")


@needs_compiler
def test_a_cuda_program_runs_without_a_gpu(folder):
    program = ("#include <cuda_runtime_api.h>\n#include <cstdio>\nint main() {\n  void* p = nullptr;\n  int count = 0;\n"
               "  if (cudaGetDeviceCount(&count) || cudaMalloc(&p, 64) || cudaFree(p)) return 1;\n  std::printf(\"%d\\n\", count);\n  return 0;\n}\n")
    (folder / "main.cpp").write_text(program)
    run(["g++", "-Icompat/include", "main.cpp", "-Lbuild/release/lib/hostcuda", "-lcudart", "-o", "program"], folder)
    assert shell(folder, "docs/hostcuda.md", 1) == "1\n"


def test_plans_for_a_gpu_that_is_not_here(folder):
    import wootz

    if missing := {library["name"]: library for library in wootz.backend_libraries()}["NVRTC"].get("missing"):
        pytest.skip(f"NVRTC: {missing}")
    save_model(folder / "model.onnx", [("Relu", "x", "r", {}), ("Softmax", "r", "y", {})], [4, 96], [4, 96])
    out = shell(folder, "docs/gpu.md", 2)
    assert "h200" in out and (folder / "model.plan").exists() and (folder / "h200.cache").exists()


def test_on_a_gpu(folder):
    import wootz

    if missing := {library["name"]: library for library in wootz.backend_libraries()}["driver"].get("missing"):
        pytest.skip(f"no GPU: {missing}")
    assert "ms" in shell(folder, "docs/gpu.md", 1, WOOTZ_BACKEND="cuda")


def test_the_alias_is_installed_by_the_line(tmp_path):
    """Into an environment of its own, which sees the packages of this one."""
    run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], tmp_path)
    here = pathlib.Path(np.__file__).parents[1]
    more = {"PATH": f"{tmp_path / 'venv/bin'}:{os.environ['PATH']}", "PYTHONPATH": f"{BUILD / 'python'}:{here}"}
    assert "tensorrt" in shell(tmp_path, "docs/installing.md", 5, **more)
    print(run(["python", "-c", "import tensorrt; print(tensorrt.__version__)"], tmp_path, **more))


@pytest.mark.skipif(shutil.which("apt-get") is None, reason="not Debian")
def test_the_packages_of_debian_are_those_of_setup():
    """What the block installs, as far as that can be tried without doing it: Debian has all of it, and the project's own list, too."""
    text = BLOCKS["docs/installing.md", "bash", 2]
    names = set(re.findall(r"[a-z0-9+.-]+", text)) - {"apt-get", "install"}
    wanted = {line.split("#")[0].strip() for line in (ROOT / "tools/setup/debian.txt").read_text().splitlines()}
    assert names - {"g++"} <= wanted, names - wanted
    done = subprocess.run(["bash", "-ec", 'apt-get() { command apt-get -s -qq "$@"; }\n' + text], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
