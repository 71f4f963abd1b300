"""`cmake --install` gives what other builds need: a program finds the library by CMake under both names, by pkg-config and by
TensorRT's library names, at both levels of the API, and runs."""

import os
import pathlib
import subprocess

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
