"""Numpy in and out."""
import json
import math
import os

import numpy as np

from ._wootz import DataType, TensorIOMode, _OutputBuffer, _TapListener

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


def infer(context, feeds, stream=0):
    """Runs `context` on numpy arrays: {input name: array} -> {output name: array}.

    Sets the input shapes, so a dynamic engine takes any shape inside the active profile. Arrays are copied only where they
    are not C-contiguous. Raises ValueError, naming the tensor, for a missing or unknown input, another dtype, or a shape
    outside the profile; RuntimeError (see the log) when the inference fails.
    """
    engine = context.engine
    inputs, outputs = _tensors(engine, TensorIOMode.INPUT), _tensors(engine, TensorIOMode.OUTPUT)
    unknown = set(feeds) - set(inputs)
    if unknown:
        raise ValueError(f"no input named {sorted(unknown)}; the engine's inputs are {inputs}")
    keep = []
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
        keep.append(array)
        context.set_tensor_address(name, array.ctypes.data if array.size else 0)
    context.infer_shapes()
    results, late = {}, {}
    for name in outputs:
        number, shape = engine._get_tensor_dtype_number(name), context.get_tensor_shape(name)
        dtype = _BY_NUMBER[number]()
        if shape is None or any(d < 0 for d in shape) or number in _PACKED_BITS:
            late[name] = _OutputBuffer()
            context._set_output_buffer(name, late[name])
            continue
        context._set_output_buffer(name, None)
        results[name] = np.empty(shape, dtype)
        if results[name].size:
            context.set_tensor_address(name, results[name].ctypes.data)
    if not context.execute_async_v3(stream):
        raise RuntimeError("the inference failed: see the log")
    for name, buffer in late.items():
        number = engine._get_tensor_dtype_number(name)
        dtype, shape = _BY_NUMBER[number](), buffer.shape
        bits = _PACKED_BITS.get(number)
        if bits:
            results[name] = _unpack(np.frombuffer(buffer.read((volume(shape) * bits + 7) // 8), np.uint8), number, shape, dtype)
        else:
            results[name] = np.frombuffer(buffer.read(volume(shape) * dtype.itemsize), dtype).reshape(shape).copy()
    del keep
    return {name: results[name] for name in outputs}


def tap(context, feeds, names=None, stream=0):
    """Runs `context` like infer() and returns values inside the network: {ONNX name: array}.

    names: of values of the model, which need not have been marked before the build; None: every value that the plan writes.
    Nothing is fused less for it. Raises ValueError for a value that no step writes because it lives inside a fused region;
    the log names the region and the values at its border, and engine.report("values") lists what can be read.
    """
    if names is None:
        names = [v["name"] for v in json.loads(context.engine.report("values")) if v["state"] == "tensor"]
    listener, on = _TapListener(), []
    context._set_tap_listener(listener)
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
        context._set_tap_listener(None)


def load_engine(runtime, path):
    """An engine from a plan file. The file is mapped, not read: weights are shared with every process that maps it."""
    engine = runtime.load_file(os.fspath(path))
    if engine is None:
        raise ValueError(f"{path}: the plan was refused: see the log")
    return engine
