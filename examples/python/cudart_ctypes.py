"""CUDA's runtime by ctypes, as the package cuda-python offers it: every call returns a tuple, the error first."""
import ctypes
import enum
import os


class cudaError_t(enum.IntEnum):  # noqa: N801
    cudaSuccess = 0
    cudaErrorInvalidValue = 1
    cudaErrorMemoryAllocation = 2


class cudaMemcpyKind(enum.IntEnum):  # noqa: N801
    cudaMemcpyHostToHost = 0
    cudaMemcpyHostToDevice = 1
    cudaMemcpyDeviceToHost = 2
    cudaMemcpyDeviceToDevice = 3


class cudaStreamCaptureMode(enum.IntEnum):  # noqa: N801
    cudaStreamCaptureModeGlobal = 0


def _open():
    names = [os.environ.get("CUDART_LIBRARY"), "libcudart.so.13", "libcudart.so.12", "libcudart.so"]
    for name in filter(None, names):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise OSError("no CUDA runtime library: put the folder of libcudart.so on LD_LIBRARY_PATH")


_library = _open()
_pointer, _size = ctypes.c_void_p, ctypes.c_size_t
# Function: types of what goes in, and whether a handle comes out.
_FUNCTIONS = {
    "cudaMalloc": ([_size], True),
    "cudaFree": ([_pointer], False),
    "cudaMallocHost": ([_size], True),
    "cudaFreeHost": ([_pointer], False),
    "cudaMemcpy": ([_pointer, _pointer, _size, ctypes.c_int], False),
    "cudaMemcpyAsync": ([_pointer, _pointer, _size, ctypes.c_int, _pointer], False),
    "cudaMemset": ([_pointer, ctypes.c_int, _size], False),
    "cudaStreamCreate": ([], True),
    "cudaStreamDestroy": ([_pointer], False),
    "cudaStreamSynchronize": ([_pointer], False),
    "cudaStreamBeginCapture": ([_pointer, ctypes.c_int], False),
    "cudaStreamEndCapture": ([_pointer], True),
    "cudaGraphLaunch": ([_pointer, _pointer], False),
    "cudaGraphDestroy": ([_pointer], False),
    "cudaGraphExecDestroy": ([_pointer], False),
    "cudaEventCreate": ([], True),
    "cudaEventRecord": ([_pointer, _pointer], False),
    "cudaEventSynchronize": ([_pointer], False),
    "cudaEventDestroy": ([_pointer], False),
    "cudaDeviceSynchronize": ([], False),
}
_HANDLE_LAST = {"cudaStreamEndCapture"}


def _wrap(name, types, gives):
    function = getattr(_library, name)
    handle = [ctypes.POINTER(_pointer)] if gives else []
    function.argtypes = [*types, *handle] if name in _HANDLE_LAST else [*handle, *types]

    def call(*arguments):
        if not gives:
            return (_error(function(*arguments)),)
        out = _pointer()
        order = [*arguments, ctypes.byref(out)] if name in _HANDLE_LAST else [ctypes.byref(out), *arguments]
        error = _error(function(*order))
        return error, out.value or 0

    call.__name__ = name
    return call


def _error(number):
    return cudaError_t(number) if number in cudaError_t._value2member_map_ else number


for _name, (_types, _gives) in _FUNCTIONS.items():
    globals()[_name] = _wrap(_name, _types, _gives)


def cudaGraphInstantiate(graph, flags=0):  # noqa: N802
    out = _pointer()
    error = _library.cudaGraphInstantiate(ctypes.byref(out), _pointer(graph), ctypes.c_ulonglong(flags))
    return _error(error), out.value or 0
