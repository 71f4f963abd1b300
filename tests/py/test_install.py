"""`cmake --install` gives what other builds need: a program finds the library by CMake under both names, by pkg-config and by
TensorRT's library names, at both levels of the API, and runs."""

import os
import pathlib
import shutil
import subprocess
import sysconfig

import onnx
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WOOTZ_BUILD_DIR", ROOT / "build" / "release")).resolve()

PROGRAM = r"""
#include <cstdio>
#include <memory>

#include "NvInfer.h"
#include "NvOnnxParser.h"

struct Log : nvinfer1::ILogger {
  void log(Severity severity, const char* text) noexcept override {
    if (severity <= Severity::kERROR) std::fprintf(stderr, "%s\n", text);
  }
};

int main() {
  using namespace nvinfer1;
  Log log;
  std::unique_ptr<IBuilder> builder(createInferBuilder(log));
  std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  std::unique_ptr<nvonnxparser::IParser> parser(nvonnxparser::createParser(*network, log));
  std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
  ITensor* x = network->addInput("x", DataType::kFLOAT, Dims{1, {3}});
  network->markOutput(*network->addActivation(*x, ActivationType::kRELU)->getOutput(0));
  std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  std::unique_ptr<IRuntime> runtime(createInferRuntime(log));
  std::unique_ptr<ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  float in[3] = {-1, 0, 5}, out[3] = {};
  void* addresses[] = {in, out};
  const bool ran = context->executeV2(addresses);
  std::printf("level %d: %d %g %g %g\n", NV_TENSORRT_MAJOR, ran, out[0], out[1], out[2]);
  return parser == nullptr;
}
"""

LOADING = r"""
#include <cstdio>
#include <memory>

#include "NvInfer.h"

struct Log : nvinfer1::ILogger {
  void log(Severity, const char*) noexcept override {}
};

int main() {
  Log log;
  std::unique_ptr<nvinfer1::IRuntime> runtime(nvinfer1::createInferRuntime(log));
  std::unique_ptr<nvinfer1::IRuntime> lean(runtime->loadRuntime("libnvinfer_lean.so.10"));
  std::unique_ptr<nvinfer1::IRuntime> none(runtime->loadRuntime("libnvinfer_lean.so.99"));
  std::printf("%d %d\n", lean != nullptr, none != nullptr);
  return 0;
}
"""

PROJECT = """
cmake_minimum_required(VERSION 3.20)
project(user CXX)
if(FORM STREQUAL "wootz")
  set(Wootz_API ${LEVEL})
  find_package(Wootz 0.1 REQUIRED)
  set(libraries Wootz::wootz)
elseif(FORM STREQUAL "tensorrt")
  find_package(TensorRT ${LEVEL} REQUIRED)
  set(libraries TensorRT::nvinfer TensorRT::nvonnxparser)
else()
  list(APPEND CMAKE_MODULE_PATH ${CMAKE_PREFIX_PATH}/lib/cmake/TensorRT)
  find_package(TensorRT ${LEVEL} MODULE REQUIRED)
  set(libraries ${TensorRT_LIBRARIES})
endif()
add_executable(user main.cpp)
target_link_libraries(user PRIVATE ${libraries})
"""


def run(command, **kwargs):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600, **kwargs)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """Everything installed, into a folder that is moved afterwards: nothing may know where it was installed."""
    folder = tmp_path_factory.mktemp("install")
    run(["cmake", "--install", BUILD, "--prefix", folder / "first"])
    (folder / "first").rename(folder / "moved")
    yield folder / "moved"


@pytest.fixture(scope="module")
def compat(tmp_path_factory):
    """TensorRT's names alone."""
    folder = tmp_path_factory.mktemp("compat")
    run(["cmake", "--install", BUILD, "--prefix", folder / "first", "--component", "compat"])
    (folder / "first").rename(folder / "moved")
    yield folder / "moved"


@pytest.fixture
def program(tmp_path):
    (tmp_path / "main.cpp").write_text(PROGRAM)
    return tmp_path


def expect_run(command, level, **kwargs):
    assert run(command, **kwargs) == f"level {level}: 1 0 0 5\n"


@pytest.mark.parametrize("level", [10, 11])
@pytest.mark.parametrize("form", ["wootz", "tensorrt", "module"])
def test_cmake_finds_it(form, level, prefix, program):
    (program / "CMakeLists.txt").write_text(PROJECT)
    run(["cmake", "-S", program, "-B", program / "b", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DFORM={form}", f"-DLEVEL={level}"])
    run(["cmake", "--build", program / "b"])
    expect_run([program / "b" / "user"], level)


@pytest.mark.parametrize("level", [10, 11])
def test_pkg_config_finds_it(level, prefix, program):
    env = {**os.environ, "PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
    flags = run(["pkg-config", "--cflags", "--libs", "wootz"], env=env).split()
    run(["c++", "-std=c++17", f"-DWOOTZ_TENSORRT_API={level}", program / "main.cpp", "-o", program / "user", *flags])
    expect_run([program / "user"], level, env={**os.environ, "LD_LIBRARY_PATH": str(prefix / "lib")})


def test_tensorrts_library_names(prefix, program):
    libraries = [f"-L{prefix}/lib", f"-Wl,-rpath,{prefix}/lib", "-lnvinfer", "-lnvinfer_plugin", "-lnvonnxparser"]
    run(["c++", "-std=c++17", f"-I{prefix}/include", program / "main.cpp", "-o", program / "user", *libraries])
    expect_run([program / "user"], 10)
    for name in ("nvinfer", "nvinfer_plugin", "nvonnxparser", "nvinfer_lean", "nvinfer_dispatch"):
        for suffix in ("so", "so.10", "so.11"):
            assert (prefix / "lib" / f"lib{name}.{suffix}").exists()
            assert (BUILD / "lib/compat" / f"lib{name}.{suffix}").exists()


def test_trtexec(prefix):
    assert "--onnx" in run([prefix / "bin/trtexec", "--help"])
    assert "--onnx" in run([BUILD / "lib/compat/trtexec", "--help"])


def test_a_version_that_is_not_there_is_refused(prefix, program):
    (program / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.20)\nproject(user CXX)\n"
                                            "find_package(TensorRT 8.6 QUIET)\nmessage(STATUS \"found: ${TensorRT_FOUND}\")\n")
    out = run(["cmake", "-S", program, "-B", program / "b", f"-DCMAKE_PREFIX_PATH={prefix}"])
    assert "found: 0" in out


@pytest.mark.parametrize("level", [10, 11])
def test_examples_build_by_themselves(level, prefix, tmp_path):
    """examples/ against the installed headers and libraries, CUDA's runtime for processors among them."""
    names = ["classifier", "refit", "plugin_v3"]
    run(["cmake", "-S", ROOT / "examples", "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DTENSORRT_API={level}",
         "-DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON"])
    run(["cmake", "--build", tmp_path, "--parallel", "2", "--target", *names])
    for name in names:
        run([tmp_path / name])


@pytest.mark.parametrize("level", [10, 11])
def test_the_component_with_tensorrts_names_is_enough(level, compat, program):
    flags = [f"-DWOOTZ_TENSORRT_API={level}", f"-I{compat}/include", f"-L{compat}/lib", f"-Wl,-rpath,{compat}/lib"]
    run(["c++", "-std=c++17", *flags, program / "main.cpp", "-o", program / "user", "-lnvinfer", "-lnvonnxparser"])
    expect_run([program / "user"], level)
    for form in ("tensorrt", "module"):
        (program / "CMakeLists.txt").write_text(PROJECT)
        run(["cmake", "-S", program, "-B", program / form, f"-DCMAKE_PREFIX_PATH={compat}", f"-DFORM={form}", f"-DLEVEL={level}"])
        run(["cmake", "--build", program / form])
        expect_run([program / form / "user"], level)


def test_no_link_of_the_component_leads_nowhere(compat, prefix):
    links = [path for path in compat.rglob("*") if path.is_symlink()]
    assert len(links) > 15
    for link in links:
        assert link.exists(), link
        assert link.resolve().is_relative_to(compat), link
    # What the whole installation has of libraries and headers is all here.
    whole, part = ({path.relative_to(root) for path in root.rglob("*")} for root in (prefix, compat))
    assert whole == part


def small_model(path):
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Relu", ["x"], ["y"])], "g", [onnx.helper.make_tensor_value_info("x", 1, [2, 3])],
        [onnx.helper.make_tensor_value_info("y", 1, [2, 3])])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), path)


def test_trtexec_of_the_component_builds_and_runs(compat, tmp_path):
    small_model(tmp_path / "m.onnx")
    out = run([compat / "bin/trtexec", f"--onnx={tmp_path}/m.onnx", f"--saveEngine={tmp_path}/m.plan", "--vc",
               "--iterations=2", "--duration=0", "--warmUp=0"], env={**os.environ, "WOOTZ_BACKEND": "cpu"})
    assert "PASSED" in out, out
    out = run([compat / "bin/trtexec", f"--loadEngine={tmp_path}/m.plan", "--useRuntime=dispatch", "--iterations=2",
               "--duration=0", "--warmUp=0"])
    assert "PASSED" in out, out


@pytest.mark.parametrize("folder", [f"lib/{sysconfig.get_config_var('MULTIARCH')}", "lib64"])
def test_the_runtimes_library_is_found_in_folders_of_libraries(folder, compat, tmp_path):
    """Where an installation has its libraries elsewhere than in lib, what version-compatible plans carry is found."""
    shutil.copytree(compat, tmp_path / "prefix", symlinks=True)
    libraries = tmp_path / "prefix" / folder
    libraries.parent.mkdir(exist_ok=True)
    (tmp_path / "prefix/lib").rename(tmp_path / "prefix/all")
    libraries.parent.mkdir(exist_ok=True)
    (tmp_path / "prefix/all").rename(libraries)
    small_model(tmp_path / "m.onnx")
    env = {**os.environ, "WOOTZ_BACKEND": "cpu", "LD_LIBRARY_PATH": str(libraries)}
    run([tmp_path / "prefix/bin/wootz", "build", tmp_path / "m.onnx", "-o", tmp_path / "m.plan", "--version-compatible"], env=env)
    out = run([tmp_path / "prefix/bin/wootz", "exec", f"--loadEngine={tmp_path}/m.plan", "--useRuntime=lean",
               "--iterations=2", "--duration=0", "--warmUp=0"], env=env)
    assert "Runtime: lean" in out and "PASSED" in out, out
    # As a library that a program has loaded, by a name alone.
    (tmp_path / "main.cpp").write_text(LOADING)
    run(["c++", "-std=c++17", f"-I{tmp_path}/prefix/include", tmp_path / "main.cpp", "-o", tmp_path / "user",
         f"-L{libraries}", "-lnvinfer"])
    assert run([tmp_path / "user"], env=env) == "1 0\n"
