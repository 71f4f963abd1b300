"""Plugins of one function (wootz.kernel) on an engine's device. Run by test_python_plugins.py in a process of its own."""
import os
import subprocess
import sys

import numpy as np
import pytest
import wootz as trt
import wootz.plugin as trtp
from plugin_cases import BACKENDS, check, Network, node_model, parsed, SEED

C = """
#include <math.h>
#include <stdint.h>
void curve(const float* x, const float* z, int64_t rows, int64_t columns, float* y, int32_t* signs) {
  for (int64_t i = 0; i < rows * columns; ++i) {
    y[i] = sqrtf(x[i]) + z[i] * (float)rows;
    signs[i] = x[i] > 0 ? 1 : -1;
  }
}
"""
CUDA = """
__global__ void curve(const float* x, const float* z, int rows, int columns, float* y, int* signs) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  if (i >= rows * columns) return;
  y[i] = sqrtf(x[i]) + z[i] * rows;
  signs[i] = x[i] > 0 ? 1 : -1;
}
"""


def describe(x, z):
    return x.like(), trtp.from_shape_expr(x.shape_expr, trt.int32)


CURVE = trt.kernel("tests::curve", {"cpu": C, "cuda": CUDA}, describe, arguments=lambda x, z: (x.shape_expr[0], x.shape_expr[1]), block=32)
DOUBLE = trt.kernel("tests::twice", {"cpu": "void twice(const float* x, long n, float* y) { for (long i = 0; i < n; ++i) y[i] = 2 * x[i]; }",
                                     "cuda": "__global__ void twice(const float* x, int n, float* y) { int i = blockIdx.x * 64 + threadIdx.x;"
                                             " if (i < n) y[i] = 2 * x[i]; }"}, block=64)


@pytest.fixture(autouse=True)
def seed():
    print("seed", SEED)


@pytest.fixture(params=BACKENDS)
def backend(request):
    return request.param


def curved(backend):
    net = Network(backend)
    z = net.network.add_unary(net.before, trt.UnaryOperation.EXP).get_output(0)
    layer = net.network.add_plugin(CURVE(net.before, z, backend=backend))
    signs = net.network.add_cast(layer.get_output(1), trt.float32).get_output(0)
    net.finish(net.network.add_elementwise(layer.get_output(0), signs, trt.ElementWiseOperation.PROD).get_output(0))
    return net


def expected(x):
    return (np.sqrt(x) + np.exp(x) * len(x)) * np.where(x > 0, 1, -1)


def test_one_function_on_either_backend(backend, tmp_path):
    net = curved(backend)
    plan = net.plan()
    assert plan is not None, net.logger.errors
    engine = net.load(plan)
    check(engine, expected)
    check(net.load(bytes(engine.serialize())), expected)
    refused = trt.Runtime(net.logger)
    assert refused.deserialize_cuda_engine(plan) is None and "setEngineHostCodeAllowed" in net.logger.take()
    (tmp_path / "plan").write_bytes(bytes(plan))
    code = ("import sys, numpy as np, wootz as trt\n"
            "runtime = trt.Runtime(trt.Logger(trt.Logger.ERROR))\n"
            "runtime.engine_host_code_allowed = True\n"
            "context = runtime.deserialize_cuda_engine(open(sys.argv[1], 'rb').read()).create_execution_context()\n"
            "np.testing.assert_allclose(trt.infer(context, {'x': np.float32([[4, 9, -1]])})['y'],\n"
            "                           -np.float32([[2 + np.exp(4), 3 + np.exp(9), -1]]), rtol=1e-6)\n")
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "plan"], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == 0, done.stderr


def test_defaults_are_one_thread_an_element(backend):
    net = Network(backend)
    net.finish(net.network.add_plugin(DOUBLE(net.before, backend=backend)).get_output(0))
    check(net.engine(), lambda x: 2 * x)


def test_nodes_of_a_model_become_kernels(backend, tmp_path, monkeypatch):
    monkeypatch.setenv("WOOTZ_BACKEND", backend)  # which a node's kernel is for
    DOUBLE.register()
    net = parsed(backend, node_model(tmp_path / "m.onnx", "twice", plugin_namespace="tests"))
    check(net.engine(), lambda x: 2 * x)


def test_a_build_for_another_backend_is_refused(backend):
    other = {"cpu": "cuda", "cuda": "cpu"}[backend]
    net = Network(backend)
    net.finish(net.network.add_plugin(DOUBLE(net.before, backend=other)).get_output(0))
    assert net.plan() is None
    assert "a function for the host" in net.logger.errors or "a kernel for a GPU" in net.logger.errors, net.logger.errors


def test_faults_are_told_at_once():
    x = Network("cpu").before
    with pytest.raises(RuntimeError, match="refuses the kernel"):
        trt.kernel("tests::broken", "void broken(const float* x, long n, float* y) { y = ; }")(x)
    with pytest.raises(ValueError, match="no function 'other'"):
        trt.kernel("tests::other", "void broken(void) {}")(x)
    with pytest.raises(ValueError, match="no source for the backend 'cuda'"):
        trt.kernel("tests::some", "void some(void) {}")(x, backend="cuda")
    with pytest.raises(ValueError, match="namespace::function"):
        trt.kernel("some", "void some(void) {}")
    with pytest.raises(ValueError, match="sources are of"):
        trt.kernel("tests::some", {"gpu": ""})
    with pytest.raises(TypeError, match="1 are wanted"):
        trt.kernel("tests::some", "void some(void) {}")(x, x)


def test_no_compiler_is_a_refusal(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(RuntimeError, match="needs a C compiler"):
        trt.kernel("tests::lonely", "void lonely(const float* x, long n, float* y) {}")(Network("cpu").before)


def test_code_that_the_device_does_not_take_is_named(backend):
    if backend == "cuda":
        pytest.skip("the emulator compiles where it runs")
    kernel = trt.kernel("tests::absent", "static void absent(void) {}")
    net = Network(backend)
    net.finish(net.network.add_plugin(kernel(net.before)).get_output(0))
    assert net.plan() is None and "function 'absent' is not in the library" in net.logger.errors, net.logger.errors
