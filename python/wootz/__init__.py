"""Wootz: an open inference optimizer and runtime with TensorRT's API.

`import wootz as trt` runs TensorRT's Python programs; on a CPU engine addresses are host addresses (numpy's
`array.ctypes.data`) and the stream handle is 0; on a GPU engine (`engine.on_device`) they are the device's (`DeviceMemory`).
`wootz.infer` and `wootz.build` do the usual with numpy in one call, on either.
"""
import json as _json
from collections.abc import Sequence as _Sequence

from . import _wootz
from ._wootz import *  # noqa: F401,F403
from ._wootz import DataType
from . import _libraries, _old_names  # noqa: F401
from ._device import read_memory, to_device  # noqa: F401
from ._arrays import DeviceArray  # noqa: F401
from ._numpy import infer, infer_async, itemsize as _itemsize, load_engine, nptype, tap, volume  # noqa: F401
from ._build import backend_libraries, build, BuildError  # noqa: F401
from ._tools import compare, quantize  # noqa: F401
from ._plugins import *  # noqa: F401,F403

__version__ = ".".join(str(n) for n in _wootz.__tensorrt_version__)


def kernel(name, source, outputs=None, inputs=1, arguments=None, grid=None, block=256, options=()):  # noqa: PLR0913: each has its own default
    """A plugin of one function of C (for the CPU) or CUDA C++ (for a GPU), for network.add_plugin: see docs/python-plugins.md.

    `name` is "namespace::function". `source`: the text; C unless it has a __global__ function; or a dict of "cpu" and "cuda". The function
    is handed the addresses of the inputs, then `arguments`, then the addresses of the outputs.

    `outputs`: a function of the inputs' TensorDesc that gives the outputs' (by default one like the first input, of `inputs` of them).
    `arguments`: a function of the same that gives integers or expressions; by default the number of elements of the first output.
    `grid`, `block`: of the launch on a GPU; by default a thread for each element of the first output. `options`: of the compiler.

    The result, called with tensors, is for network.add_plugin. Its code goes into the plan, which needs no Python, but
    runtime.engine_host_code_allowed.
    """
    from ._kernel import Kernel  # which most programs do without
    return Kernel(name, source, outputs, inputs, arguments, grid, block, options)


def devices():
    """This machine: version, default backend, each backend's device (or why it has none), devices known by name."""
    return _json.loads(_wootz._machine())


float32, float16, bfloat16 = DataType.FLOAT, DataType.HALF, DataType.BF16
int8, uint8, int32, int64, int4 = DataType.INT8, DataType.UINT8, DataType.INT32, DataType.INT64, DataType.INT4
bool = DataType.BOOL  # noqa: A001
fp8, fp4, e8m0 = DataType.FP8, DataType.FP4, DataType.E8M0


def _like_tensorrt():
    # TensorRT's scripts say `with trt.Builder(logger) as builder` or `del builder`, and older ones `builder.__del__()`: an
    # object ends with the last reference to it, and by nothing else.
    names = ("Builder", "Runtime", "OnnxParser", "Refitter", "OnnxParserRefitter", "INetworkDefinition", "IBuilderConfig", "ICudaEngine",
             "IExecutionContext", "IHostMemory", "EngineInspector")
    for name in names:
        cls = getattr(_wootz, name)
        cls.__enter__ = lambda self: self
        cls.__exit__ = lambda self, *_: None
        if name not in ("OnnxParserRefitter", "EngineInspector"):
            cls.__del__ = lambda self: None
    _Sequence.register(_wootz.Dims)
    _Sequence.register(_wootz.Permutation)
    DataType.itemsize = property(_itemsize, doc="Bytes of an element; of four bits, one.")


_like_tensorrt()
