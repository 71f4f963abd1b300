"""libwootz_hostcuda opened by ctypes, as by programs that call CUDA's runtime from Python: in a process of its own, since what
a stream means to a CPU engine is another thing once the library is there."""
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

PROGRAM = """
import ctypes, sys
import numpy as np
import wootz

cuda = ctypes.CDLL(sys.argv[2])  # for itself: not in the global scope
def call(name, *arguments):
    assert getattr(cuda, name)(*arguments) == 0, name
def pointer():
    return ctypes.c_void_p()

w = np.arange(12, dtype=np.float32).reshape(4, 3) - 5
engine = wootz.Runtime(wootz.Logger()).deserialize_cuda_engine(wootz.build(sys.argv[1]))
context = engine.create_execution_context()
stream, x, y, graph, run = pointer(), pointer(), pointer(), pointer(), pointer()
call("cudaStreamCreateWithFlags", ctypes.byref(stream), 1)
call("cudaMalloc", ctypes.byref(x), ctypes.c_size_t(32))
call("cudaMalloc", ctypes.byref(y), ctypes.c_size_t(24))
assert context.set_tensor_address("x", x.value) and context.set_tensor_address("y", y.value)
result = np.empty((2, 3), np.float32)

def copy_in(value):
    call("cudaMemcpyAsync", x, ctypes.c_void_p(value.ctypes.data), ctypes.c_size_t(32), 1, stream)
def check(value):
    call("cudaMemcpyAsync", ctypes.c_void_p(result.ctypes.data), y, ctypes.c_size_t(24), 2, stream)
    call("cudaStreamSynchronize", stream)
    np.testing.assert_allclose(result, np.maximum(value @ w, 0), rtol=1e-5)

values = [np.random.default_rng(i).standard_normal((2, 4)).astype(np.float32) for i in range(3)]
copy_in(values[0])
assert context.execute_async_v3(stream.value)
check(values[0])
call("cudaStreamBeginCapture", stream, 0)
assert context.execute_async_v3(stream.value)
call("cudaStreamEndCapture", stream, ctypes.byref(graph))
call("cudaGraphInstantiate", ctypes.byref(run), graph, ctypes.c_ulonglong(0))
copy_in(values[1])
call("cudaGraphLaunch", run, stream)
check(values[1])
np.testing.assert_allclose(wootz.infer(context, {"x": values[2]})["y"], np.maximum(values[2] @ w, 0), rtol=1e-5)
call("cudaGraphExecDestroy", run)
call("cudaStreamDestroy", stream)
print("done")
"""


def test_streams_of_ctypes(tmp_path):
    weights = np.arange(12, dtype=np.float32).reshape(4, 3) - 5
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Relu", ["p"], ["y"])], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])], [numpy_helper.from_array(weights, "w")])
    model = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
    build = pathlib.Path(os.environ.get("WOOTZ_BUILD_DIR", pathlib.Path(__file__).resolve().parents[2] / "build/release"))
    library = build / "lib/hostcuda/libcudart.so.13"
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(model), str(library)], capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0 and done.stdout.endswith("done\n"), done.stdout + done.stderr
