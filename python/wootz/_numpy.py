"""Numpy in and out."""
import json
import math
import os

import numpy as np

from ._wootz import DeviceMemory, TensorFormat, TensorIOMode, TensorLocation, _OutputBuffer, _take_errors, _TapListener
from . import _device  # noqa: F401: DeviceMemory with numpy

_EXTENDED = 256  # WOOTZ_EXTENDED_TYPE of include/wootz/extensions.h


def _ml(name):
    import ml_dtypes  # bfloat16 and the narrow formats, which numpy lacks

    return np.dtype(getattr(ml_dtypes, name))


_BY_NUMBER = {
    0: lambda: np.dtype(np.float32), 1: lambda: np.dtype(np.float16), 2: lambda: np.dtype(np.int8),
    3: lambda: np.dtype(np.int32), 4: lambda: np.dtype(np.bool_), 5: lambda: np.dtype(np.uint8),
    6: lambda: _ml("float8_e4m3fn"), 7: lambda: _ml("bfloat16"), 8: lambda: np.dtype(np.int64), 9: lambda: _ml("int4"),
    10: lambda: _ml("float4_e2m1fn"), 11: lambda: _ml("float8_e8m0fnu"),
    _EXTENDED + 4: lambda: np.dtype(np.float64), _EXTENDED + 7: lambda: np.dtype(np.int16),
    _EXTENDED + 8: lambda: np.dtype(np.uint16), _EXTENDED + 10: lambda: np.dtype(np.uint32),
    _EXTENDED + 12: lambda: np.dtype(np.uint64), _EXTENDED + 15: lambda: _ml("float8_e4m3fnuz"),
    _EXTENDED + 16: lambda: _ml("float8_e5m2"), _EXTENDED + 17: lambda: _ml("float8_e5m2fnuz"),
    _EXTENDED + 21: lambda: _ml("uint4"), _EXTENDED + 22: lambda: _ml("int2"), _EXTENDED + 23: lambda: _ml("uint2"),
}
_PACKED_BITS = {9: 4, 10: 4, _EXTENDED + 21: 4, _EXTENDED + 22: 2, _EXTENDED + 23: 2}


def volume(shape):
    """Number of elements of a shape."""
    return math.prod(shape)


def nptype(dtype):
    """The numpy type of a DataType (ml_dtypes' for those numpy lacks)."""
    return _BY_NUMBER[int(dtype)]()


def itemsize(dtype):
    """Bytes of an element of a DataType; those of less than a byte count as one."""
    return nptype(dtype).itemsize


def _extents(shape):
    """A shape as a tuple; None: the rank is not known."""
    try:
        return tuple(shape)
    except ValueError:
        return None


def _pack(array, bits):
    """Sub-byte elements, the first in the lowest bits."""
    per = 8 // bits
    flat = array.reshape(-1).view(np.uint8) & ((1 << bits) - 1)
    flat = np.concatenate([flat, np.zeros(-flat.size % per, np.uint8)]).reshape(-1, per)
    return np.bitwise_or.reduce(flat << (np.arange(per, dtype=np.uint8) * bits), axis=1).astype(np.uint8)


def _unpack(raw, number, shape, dtype):
    bits = _PACKED_BITS[number]
    per, count = 8 // bits, volume(shape)
    values = (raw[:, None] >> (np.arange(per, dtype=np.uint8) * bits)) & ((1 << bits) - 1)
    values = values.reshape(-1)[:count].astype(np.uint8)
    if dtype.name.startswith("int"):  # sign bits above the value, as ml_dtypes keeps them
        values = np.where(values >= 1 << (bits - 1), values | (0x100 - (1 << bits)), values).astype(np.uint8)
    return values.view(dtype).reshape(shape)


def _tensors(engine, mode):
    return [n for n in engine if engine.get_tensor_mode(n) == mode]


class _Scratch:
    """What infer() keeps with a context from call to call: memory of the device by tensor."""

    def __init__(self, engine):
        self.engine, self.memory, self.buffers = engine, {}, {}

    def memory_of(self, name, nbytes):
        have = self.memory.get(name)
        if have is None or have.nbytes < nbytes:
            have = self.memory[name] = DeviceMemory(self.engine, nbytes)
        return have

    def buffer(self, name):
        return self.buffers.setdefault(name, _OutputBuffer(self.engine))


def _scratch(context):
    if not hasattr(context, "_scratch"):
        context._scratch = _Scratch(context.engine)
    return context._scratch


def _formatted(context):
    """Names of inputs and outputs that are not row-major in memory. Looked up once for a context."""
    if not hasattr(context, "_not_row_major"):
        engine = context.engine
        context._not_row_major = {n for n in engine if engine.get_tensor_format(n) != TensorFormat.LINEAR}
    return context._not_row_major


def _places(context, name, shape):
    """Where the elements of such a tensor are in its memory, and how many elements that memory has."""
    engine, strides = context.engine, context.get_tensor_strides(name)
    axis, together = engine.get_tensor_vectorized_dim(name), engine.get_tensor_components_per_element(name)
    places = np.zeros((1,) * len(shape), np.int64)
    for a, (extent, stride) in enumerate(zip(shape, strides)):
        index = np.arange(extent, dtype=np.int64)
        step = index // together * stride * together + index % together if a == axis else index * stride * together
        places = places + step.reshape((-1,) + (1,) * (len(shape) - 1 - a))
    return places, shape[0] * strides[0] * together if volume(shape) else 0


def _arranged(context, name, array):
    """An array as the engine wants it in memory; what fills groups of channels up is zeros."""
    if name not in _formatted(context):
        return array
    places, count = _places(context, name, array.shape)
    memory = np.zeros(count, array.dtype)
    memory[places] = array
    return memory


def _set_inputs(context, feeds, inputs, keep):
    engine = context.engine
    for name in inputs:
        if name not in feeds:
            raise ValueError(f"input '{name}' is missing; the engine's inputs are {inputs}")
        number = engine._get_tensor_dtype_number(name)
        want, array = _BY_NUMBER[number](), np.asarray(feeds[name])
        if array.dtype != want:
            raise ValueError(f"input '{name}': dtype {array.dtype} given, the engine wants {want}")
        shape = array.shape
        array = _pack(array, _PACKED_BITS[number]) if number in _PACKED_BITS else np.ascontiguousarray(array)
        if not context.set_input_shape(name, shape):
            raise ValueError(f"input '{name}': shape {shape} is not accepted; the engine has "
                             f"{engine.get_tensor_shape(name)} and the active profile allows (min, opt, max) "
                             f"{engine.get_tensor_profile_shape(name, context.active_optimization_profile)}")
        array = _arranged(context, name, array)
        if engine.on_device and engine.get_tensor_location(name) == TensorLocation.DEVICE:
            memory = _scratch(context).memory_of(name, array.nbytes)
            memory.write(array)
            context.set_tensor_address(name, memory)
        else:
            keep.append(array)
            context.set_tensor_address(name, array.ctypes.data if array.size else 0)


def _set_output(context, name, results):
    """Gives an output its memory; True: its size is data-dependent."""
    engine = context.engine
    number, shape = engine._get_tensor_dtype_number(name), _extents(context.get_tensor_shape(name))
    if shape is None or any(d < 0 for d in shape) or number in _PACKED_BITS:
        context.set_output_allocator(name, _scratch(context).buffer(name))
        return True
    context.set_output_allocator(name, None)
    if name in _formatted(context):
        shape = _places(context, name, shape)[1]
    results[name] = np.empty(shape, _BY_NUMBER[number]())
    if engine.on_device:
        context.set_tensor_address(name, _scratch(context).memory_of(name, results[name].nbytes))
    else:
        context.set_tensor_address(name, results[name].ctypes.data if results[name].size else 0)
    return False


def _fetch(context, name, dynamic, results):
    number = context.engine._get_tensor_dtype_number(name)
    dtype = _BY_NUMBER[number]()
    if not dynamic:
        if context.engine.on_device:
            results[name] = _scratch(context).memory_of(name, 0).read(dtype, results[name].shape)
        if name in _formatted(context):
            results[name] = results[name][_places(context, name, tuple(context.get_tensor_shape(name)))[0]]
        return
    buffer = _scratch(context).buffer(name)
    shape, bits = tuple(buffer.shape), _PACKED_BITS.get(number)
    if name in _formatted(context):
        places, count = _places(context, name, shape)
        results[name] = np.frombuffer(buffer.read(count * dtype.itemsize), dtype)[places]
    elif bits:
        raw = np.frombuffer(buffer.read((volume(shape) * bits + 7) // 8), np.uint8)
        results[name] = _unpack(raw, number, shape, dtype)
    else:
        results[name] = np.frombuffer(buffer.read(volume(shape) * dtype.itemsize), dtype).reshape(shape).copy()


def infer(context, feeds, stream=0):
    """Runs `context` on numpy arrays: {input name: array} -> {output name: array}.

    Sets the input shapes, so a dynamic engine takes any shape inside the active profile. Arrays are row-major; where the
    engine has another format (ITensor.allowed_formats), they are rearranged. Else they are copied only where they are not
    C-contiguous, or where the engine's memory is a device's: then to there and back, in memory that is kept with the
    context for the next call. Waits for `stream`. The tensors have no address afterwards. Raises ValueError, naming the
    tensor, for a missing or unknown input, another dtype, or a shape outside the profile; RuntimeError, with the errors of
    the log, when the inference fails.
    """
    engine = context.engine
    inputs, outputs = _tensors(engine, TensorIOMode.INPUT), _tensors(engine, TensorIOMode.OUTPUT)
    unknown = set(feeds) - set(inputs)
    if unknown:
        raise ValueError(f"no input named {sorted(unknown)}; the engine's inputs are {inputs}")
    keep, results = [], {}
    allocators = {name: context.get_output_allocator(name) for name in outputs}
    try:
        _set_inputs(context, feeds, inputs, keep)
        context.infer_shapes()
        dynamic = {name: _set_output(context, name, results) for name in outputs}
        _take_errors()  # those of earlier calls
        if not context.execute_async_v3(stream):
            raise RuntimeError(f"the inference failed: {_take_errors() or 'see the log'}")
        engine.synchronize(stream)
        for name in outputs:
            _fetch(context, name, dynamic[name], results)
    finally:  # the arrays are gone when this returns
        for name in [*inputs, *outputs]:
            context.set_tensor_address(name, 0)
        for name, allocator in allocators.items():
            context.set_output_allocator(name, allocator)
    return {name: results[name] for name in outputs}


def tap(context, feeds, names=None, stream=0):
    """Runs `context` like infer() and returns values inside the network: {ONNX name: array}.

    names: of values of the model, which need not have been marked before the build; None: every value that the plan writes.
    Nothing is fused less for it. Raises ValueError for a value that no step writes because it lives inside a fused region;
    the log names the region and the values at its border, and engine.report("values") lists what can be read.
    """
    if names is None:
        names = [v["name"] for v in json.loads(context.engine.report("values")) if v["state"] == "tensor"]
    listener, on, before = _TapListener(context.engine), [], context.get_debug_listener()
    context.set_debug_listener(listener)
    try:
        for name in names:
            if not context.tap(name, True):
                raise ValueError(f"value '{name}' cannot be read: the log says why")
            on.append(name)
        infer(context, feeds, stream)
        values = {}
        for name, number, shape, raw in listener.take():
            dtype = _BY_NUMBER[number]()
            if number in _PACKED_BITS:
                values[name] = _unpack(np.frombuffer(raw, np.uint8), number, shape, dtype)
            else:
                values[name] = np.frombuffer(raw, dtype).reshape(shape).copy()
        return values
    finally:
        for name in on:
            context.tap(name, False)
        context.set_debug_listener(before)


def load_engine(runtime, path):
    """An engine from a plan file. The file is mapped, not read: weights are shared with every process that maps it."""
    _take_errors()  # those of earlier calls
    engine = runtime.load_file(os.fspath(path))
    if engine is None:
        raise ValueError(f"{path}: the plan was refused: {_take_errors() or 'see the log'}")
    return engine
