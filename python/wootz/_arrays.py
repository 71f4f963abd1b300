"""Arrays of other packages, in and out without copies: by DLPack, __cuda_array_interface__ and __array_interface__."""
import sys

import numpy as np

from . import _wootz

_HOST = (1, 3, 11, 13)  # DLPack's numbers of memory that the host reads: its own, pinned, managed
_CUDA = 2
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}


def _torch():
    return sys.modules.get("torch")


def is_torch(array):
    torch = _torch()
    return torch is not None and isinstance(array, torch.Tensor)


def _ml(name):
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name))


def _torch_dtype(dtype):
    """numpy's type of a torch type."""
    name = str(dtype).rpartition(".")[2]
    return _ml(name) if name.startswith(("bfloat16", "float8")) else np.dtype(name)


def _of_torch(dtype):
    return getattr(_torch(), str(dtype))


class OnDevice:
    """What is known of an array in a device's memory. `strides` in elements; None: row-major."""

    def __init__(self, address, shape, dtype, strides, device):
        self.address, self.shape, self.dtype, self.strides, self.device = address, tuple(shape), dtype, strides, device

    @property
    def nbytes(self):
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    def refuse_strides(self, what):
        want, step = [], 1
        for extent in reversed(self.shape):
            want.insert(0, step)
            step *= extent
        if self.strides is not None and any(e > 1 and s != w for e, s, w in zip(self.shape, self.strides, want)):
            raise ValueError(f"{what}: the strides are {tuple(self.strides)} elements for the shape {self.shape}, and the engine reads "
                             f"row-major memory, {tuple(want)}: pass a contiguous copy (torch: x.contiguous(), cupy: cupy.ascontiguousarray(x))")


def on_device(array):
    """An OnDevice of an array in a GPU's memory; None: it is not in one."""
    if isinstance(array, np.ndarray):
        return None
    if is_torch(array):
        if array.device.type != "cuda":
            return None
        return OnDevice(array.data_ptr(), array.shape, _torch_dtype(array.dtype), array.stride(), array.device.index or 0)
    known = getattr(array, "__cuda_array_interface__", None)
    if known is None:
        return None
    dtype = np.dtype(known["typestr"])
    strides = known.get("strides")
    return OnDevice(known["data"][0], known["shape"], dtype, None if strides is None else [s // dtype.itemsize for s in strides], 0)


def on_host(array, what):
    """A numpy array of the same memory, for arrays of the host; of lists and numbers a new one."""
    if isinstance(array, np.ndarray):
        return array
    if is_torch(array):
        if array.device.type != "cpu":
            raise ValueError(f"{what}: the tensor is on {array.device}, and the engine reads the host's memory: pass x.cpu()")
        array = array.detach()
        dtype = _torch_dtype(array.dtype)
        return array.numpy() if dtype.kind in "fiub" and dtype.isbuiltin == 1 else array.view(getattr(_torch(), f"int{8 * dtype.itemsize}")).numpy().view(dtype)
    where = getattr(array, "__dlpack_device__", None)
    if where is not None and hasattr(array, "__dlpack__"):
        if where()[0] not in _HOST:
            raise ValueError(f"{what}: the array is in memory of a device, and the engine reads the host's: copy it there first")
        return np.from_dlpack(array)
    if hasattr(array, "__cuda_array_interface__"):
        raise ValueError(f"{what}: the array is in memory of a device, and the engine reads the host's: copy it there first")
    return np.asarray(array)


def kind_of(feeds):
    """What makes of a result an array of the inputs' kind: a function of a numpy array; None: it is one already."""
    for array in feeds.values():
        if isinstance(array, np.ndarray) or not hasattr(array, "__dlpack__"):
            continue
        if is_torch(array):
            return _to_torch
        spaces = getattr(array, "__array_namespace__", None)
        return None if spaces is None else spaces().from_dlpack
    return None


def _to_torch(array):
    torch = _torch()
    if array.dtype.isbuiltin == 1 and array.dtype.kind in "fiub":
        return torch.from_numpy(array)
    same = torch.from_numpy(array.view(f"i{array.dtype.itemsize}"))
    return same.view(_of_torch(array.dtype))


class DeviceArray:
    """A result in a device's memory: an array for any package that takes DLPack (`torch.from_dlpack`, `cupy.from_dlpack`) or
    __cuda_array_interface__. numpy() copies it to the host."""

    def __init__(self, memory, shape, dtype):
        self.memory, self.shape, self.dtype = memory, tuple(shape), dtype

    @property
    def nbytes(self):
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    @property
    def address(self):
        return self.memory.address

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.address, False), "strides": None, "version": 3}

    def __dlpack_device__(self):
        on = self.memory.engine
        return (_CUDA, on.device) if on.on_device else (1, 0)

    def __dlpack__(self, **options):
        code = 4 if self.dtype.name == "bfloat16" else _CODES.get(self.dtype.kind)
        if code is None:
            raise BufferError(f"DLPack has no number for {self.dtype}")
        made = _wootz._exported(self.memory, self.address, list(self.shape), code, 8 * self.dtype.itemsize, *self.__dlpack_device__())
        return made.__dlpack__(**options)

    def numpy(self):
        return self.memory.read(self.dtype, self.shape)


def empty_like(source, engine, shape, dtype):
    """(array of the kind of `source` in the engine's device's memory, its address)"""
    if is_torch(source):
        made = _torch().empty(shape, dtype=_of_torch(dtype), device=source.device)
        return made, made.data_ptr()
    spaces = getattr(source, "__array_namespace__", None)
    if spaces is not None:  # cupy
        made = spaces().empty(shape, dtype)
        return made, made.__cuda_array_interface__["data"][0]
    made = DeviceArray(_wootz.DeviceMemory(engine, int(np.prod(shape, dtype=np.int64)) * dtype.itemsize), shape, dtype)
    return made, made.address
