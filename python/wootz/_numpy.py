"""Numpy in and out."""
import json
import math
import os
import threading

import numpy as np

from ._wootz import (DeviceMemory, ICudaEngine, IExecutionContext, TensorFormat, TensorIOMode, TensorLocation, _Call, _copy_on_device, _OutputBuffer,
                     _take_errors, _TapListener)
from . import _arrays
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
        to_device = engine.on_device and engine.get_tensor_location(name) == TensorLocation.DEVICE
        there = _arrays.on_device(feeds[name]) if to_device else None
        array = there or _arrays.on_host(feeds[name], f"input '{name}'")
        want = _BY_NUMBER[number]()
        if array.dtype != want:
            raise ValueError(f"input '{name}': dtype {array.dtype} given, the engine wants {want}")
        shape = array.shape
        if there is None:
            array = _pack(array, _PACKED_BITS[number]) if number in _PACKED_BITS else np.ascontiguousarray(array)
        else:
            there.refuse_strides(f"input '{name}'")
        if not context.set_input_shape(name, shape):
            raise ValueError(f"input '{name}': shape {shape} is not accepted; the engine has "
                             f"{engine.get_tensor_shape(name)} and the active profile allows (min, opt, max) "
                             f"{engine.get_tensor_profile_shape(name, context.active_optimization_profile)}")
        if there is not None and name not in _formatted(context):
            if not context.set_tensor_address(name, there.address):
                raise ValueError(f"input '{name}': the array's memory was refused: {_take_errors() or 'see the log'}")
            continue
        if there is not None:  # rearranged on the host
            array = np.empty(shape, want)
            engine._read(array.reshape(-1).view(np.uint8), there.address)
        array = _arranged(context, name, array)
        if to_device:
            memory = _scratch(context).memory_of(name, array.nbytes)
            memory.write(array)
            context.set_tensor_address(name, memory)
        else:
            keep.append(array)
            context.set_tensor_address(name, array.ctypes.data if array.size else 0)


def _set_output(context, name, results, source):
    """Gives an output its memory; True: its size is data-dependent. source: a device's array of the kind that is wanted, or None."""
    engine = context.engine
    number, shape = engine._get_tensor_dtype_number(name), _extents(context.get_tensor_shape(name))
    if shape is None or any(d < 0 for d in shape) or number in _PACKED_BITS:
        context.set_output_allocator(name, _scratch(context).buffer(name))
        return True
    context.set_output_allocator(name, None)
    if source is not None and name not in _formatted(context):
        results[name], address = _arrays.empty_like(source, engine, tuple(shape), _BY_NUMBER[number]())
        context.set_tensor_address(name, address)
        return False
    if name in _formatted(context):
        shape = _places(context, name, shape)[1]
    results[name] = np.empty(shape, _BY_NUMBER[number]())
    if engine.on_device:
        context.set_tensor_address(name, _scratch(context).memory_of(name, results[name].nbytes))
    else:
        context.set_tensor_address(name, results[name].ctypes.data if results[name].size else 0)
    return False


def _fetch(context, name, dynamic, results, source):
    number = context.engine._get_tensor_dtype_number(name)
    dtype = _BY_NUMBER[number]()
    if source is not None and not dynamic and name not in _formatted(context):
        return  # is where it belongs
    if not dynamic:
        if context.engine.on_device:
            results[name] = _scratch(context).memory_of(name, 0).read(dtype, results[name].shape)
        if name in _formatted(context):
            results[name] = results[name][_places(context, name, tuple(context.get_tensor_shape(name)))[0]]
    else:
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
    if source is not None and number not in _PACKED_BITS:  # was on the host for its size or its form
        there, array = _arrays.empty_like(source, context.engine, results[name].shape, dtype), np.ascontiguousarray(results[name])
        memory = _scratch(context).memory_of(name, array.nbytes)
        memory.write(array)
        _copy_on_device(context.engine, there[1], memory.address, array.nbytes)
        results[name] = there[0]


class _State:
    """What infer() keeps with a context: its short way, if it has one, and the lock by which inferences take turns."""

    def __init__(self, context):
        engine = context.engine
        self.lock, self.call, self.pool = threading.Lock(), None, None
        numbers = {name: engine._get_tensor_dtype_number(name) for name in engine}
        if engine.on_device or _PACKED_BITS.keys() & set(numbers.values()):
            return
        try:
            self.call = _Call(context, {name: _BY_NUMBER[number]() for name, number in numbers.items()}, np.empty)
        except ValueError:
            pass  # shape tensors, other formats, types that numpy lacks

    def executor(self):
        if self.pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self.pool = ThreadPoolExecutor(1, "wootz-infer")
        return self.pool


def _state(context):
    try:
        return context._state
    except AttributeError:
        context._state = _State(context)
        return context._state


def _infer_by_the_long_way(context, feeds, stream):
    engine = context.engine
    inputs, outputs = _tensors(engine, TensorIOMode.INPUT), _tensors(engine, TensorIOMode.OUTPUT)
    unknown = set(feeds) - set(inputs)
    if unknown:
        raise ValueError(f"no input named {sorted(unknown)}; the engine's inputs are {inputs}")
    source = next((a for a in feeds.values() if engine.on_device and _arrays.on_device(a) is not None), None)
    keep, results = [], {}
    allocators = {name: context.get_output_allocator(name) for name in outputs}
    try:
        _take_errors()  # those of earlier calls
        _set_inputs(context, feeds, inputs, keep)
        context.infer_shapes()
        dynamic = {name: _set_output(context, name, results, source) for name in outputs}
        _take_errors()
        if not context.execute_async_v3(stream):
            raise RuntimeError(f"the inference failed: {_take_errors() or 'see the log'}")
        engine.synchronize(stream)
        for name in outputs:
            _fetch(context, name, dynamic[name], results, source)
    finally:  # the arrays are gone when this returns
        for name in [*inputs, *outputs]:
            context.set_tensor_address(name, 0)
        for name, allocator in allocators.items():
            context.set_output_allocator(name, allocator)
    return {name: results[name] for name in outputs}


def _infer(state, context, feeds, stream):
    call = state.call
    if call is not None:
        results = call.run(feeds, stream)
        if results is None and not all(type(array) is np.ndarray for array in feeds.values()):
            feeds = {name: _arrays.on_host(array, f"input '{name}'") for name, array in feeds.items()}
            results = call.run(feeds, stream)
        if results is not None:
            if results is False:
                raise RuntimeError(f"the inference failed: {_take_errors() or 'see the log'}")
            return results
    return _infer_by_the_long_way(context, feeds, stream)


def infer(context, feeds, stream=0):
    """Runs `context` on arrays: {input name: array} -> {output name: array}, of the kind that the inputs are.

    context: an execution context, or an engine, which makes one for the call. Arrays are numpy's, torch's tensors, and whatever
    has __dlpack__, __array_interface__ or __cuda_array_interface__. Results are numpy arrays for numpy's, tensors for torch's,
    what from_dlpack() makes for other packages with an array namespace (cupy, jax), and DeviceArray for other arrays of a
    device. Nothing is copied where the arrays are in the memory that the engine reads, and contiguous; the host's are copied where
    they are not contiguous, or where the engine is on a device: then to there and back. Arrays of a device that are not contiguous
    are refused.

    Sets the input shapes, so a dynamic engine takes any shape inside the active profile. Arrays are row-major; where the
    engine has another format (ITensor.allowed_formats), they are rearranged. stream: a number, or a stream of torch or cupy; it is
    waited for. The tensors have no address afterwards. Raises ValueError, naming the tensor, for a missing or unknown input,
    another dtype, memory that the engine cannot read, or a shape outside the profile; RuntimeError, with the errors of the log, when
    the inference fails.
    """
    if isinstance(context, ICudaEngine):
        context = context.create_execution_context()
        if context is None:
            raise RuntimeError(f"no context could be made: {_take_errors() or 'see the log'}")
    state = _state(context)
    with state.lock:
        results = _infer(state, context, feeds, stream)
    for array in feeds.values():
        if type(array) is not np.ndarray:
            make = _arrays.kind_of(feeds)
            return results if make is None else {name: make(a) if type(a) is np.ndarray else a for name, a in results.items()}
    return results


async def infer_async(context, feeds, stream=0):
    """infer() for asyncio: `await context.infer_async(feeds)`. The event loop goes on meanwhile.

    Each context has a thread of its own, so that contexts run side by side and inferences of one context take turns, in the order
    of the calls. Where the awaiting task is cancelled, an inference that has begun runs to its end by itself, with the arrays kept
    until then, and the next one of this context waits for it.
    """
    import asyncio  # its import takes longer than that of the package

    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_state(context).executor(), infer, context, feeds, stream)


IExecutionContext.infer_async = infer_async


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
