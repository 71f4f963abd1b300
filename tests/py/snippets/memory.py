"""What the snippets take from the package PyCUDA, over CUDA's runtime library (`cudart` of examples/python)."""
import types

import cudart
import numpy as np

_TO_DEVICE, _TO_HOST = cudart.cudaMemcpyKind.cudaMemcpyHostToDevice, cudart.cudaMemcpyKind.cudaMemcpyDeviceToHost


class _Allocation:
    """Memory of the device for as long as this lives."""

    def __init__(self, size):
        error, self._address = cudart.cudaMalloc(int(size))
        assert error == 0

    def __int__(self):
        return self._address

    def __del__(self):
        cudart.cudaFree(self._address)


def _copy(to, source, size, kind):
    assert cudart.cudaMemcpy(to, source, size, kind)[0] == 0


def _htod(to, array, stream=None):
    array = np.ascontiguousarray(array)
    _copy(int(to), array.ctypes.data, array.nbytes, _TO_DEVICE)


def _dtoh(array, source, stream=None):
    _copy(array.ctypes.data, int(source), array.nbytes, _TO_HOST)


cuda = types.SimpleNamespace(
    mem_alloc=_Allocation, memcpy_htod=_htod, memcpy_dtoh=_dtoh, memcpy_htod_async=_htod, memcpy_dtoh_async=_dtoh,
    Context=types.SimpleNamespace(synchronize=lambda: cudart.cudaDeviceSynchronize()))
