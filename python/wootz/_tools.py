"""Tools that run networks to say what they compute."""
import json
import os

import numpy as np

from . import _wootz
from ._build import build, BuildError
from ._calibration import Inputs
from ._numpy import _BY_NUMBER, _PACKED_BITS, _pack, _tensors, load_engine

_MODE = _wootz.TensorIOMode


def _engine_of(model, options, shapes, logger):
    """An engine of an ONNX model, a plan (path or bytes), or the engine itself."""
    if isinstance(model, _wootz.ICudaEngine):
        return model
    runtime = _wootz.Runtime(logger)
    if isinstance(model, (str, os.PathLike)) and not os.fspath(model).endswith(".onnx"):
        return load_engine(runtime, model)
    if isinstance(model, (str, os.PathLike)):
        model = build(model, shapes=shapes, options=options, logger=logger)
    engine = runtime.deserialize_cuda_engine(bytes(model))
    if engine is None:
        raise ValueError(f"the plan was refused: {_wootz._take_errors() or 'see the log'}")
    return engine


def _random(inputs, seed, count):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        batch = {}
        for name, shape in inputs.shapes.items():
            dtype = inputs.types[name]
            integers = dtype.kind in "iub"
            values = rng.integers(0, 2, shape) if integers else rng.standard_normal(shape)
            batch[name] = np.asarray(values).astype(dtype)
        yield batch


def _add(batches, numbers, batch):
    arrays = {}
    for name, array in batch.items():
        number, shape = numbers[name], array.shape
        array = np.atleast_1d(_pack(array, _PACKED_BITS[number]) if number in _PACKED_BITS else np.ascontiguousarray(array))
        arrays[name] = (number, list(shape), array.reshape(-1).view(np.uint8))
    batches.add(arrays)


def _batches_of(what, shapes, numbers, data, seed, batches):
    """(batches for the library, the seed of random ones)"""
    inputs = Inputs(what, shapes, {name: _BY_NUMBER[number]() for name, number in numbers.items()})
    if data is None:
        seed = int.from_bytes(os.urandom(4), "little") if seed is None else seed
        source = _random(inputs, seed, batches or 1)
    elif seed is not None:
        raise ValueError("seed: the inputs are not random, there is data")
    else:
        source = inputs.all_batches(data)
    made = _wootz._InputBatches()
    for number, batch in enumerate(source):
        if batches and number >= batches:
            break
        _add(made, numbers, batch)
    return made, seed


def compare(a, b, data=None, tolerance=1e-3, shapes=None, options=None, a_options=None, b_options=None, seed=None,
            batches=None, report=None, logger=None):
    """Runs two engines on the same inputs and compares every value of the model that both hold in a tensor.

    a, b: an ONNX model (path), a plan (path or bytes), or an engine. data: inputs as build()'s calibration_data; None:
    random numbers, of `seed`. batches: most of them; None: all of the data, or one of random numbers. tolerance: greatest
    error of a value that agrees. shapes, options: of the builds of models, as build() takes them; a_options and b_options
    come on top for one of the two. report: file for the page with every value (.html).

    Returns a dictionary: "same", "first_divergence" (name of a value, or None), "first_not_finite" (of a and b), "values" (in
    the order of execution, with "error", "largest_difference", "histogram", ...), "only_in_a", "only_in_b", "seed";
    docs/inspecting.md has the keys.
    """
    logger = logger or _wootz.Logger(_wootz.ILogger.Severity.ERROR)
    engines = [_engine_of(model, {**(options or {}), **(own or {})}, shapes, logger)
               for model, own in ((a, a_options), (b, b_options))]
    first = engines[0]
    names = _tensors(first, _MODE.INPUT)
    numbers = {name: first._get_tensor_dtype_number(name) for name in names}
    extents = {name: tuple(first.get_tensor_shape(name)) for name in names}
    for name, shape in extents.items():
        if any(extent < 0 for extent in shape):
            extents[name] = tuple(first.get_tensor_profile_shape(name, 0)[1])
    given, seed = _batches_of("data", extents, numbers, data, seed, batches)
    shown = [os.fspath(m) if isinstance(m, (str, os.PathLike)) else side for m, side in ((a, "A"), (b, "B"))]
    _wootz._take_errors()  # those of earlier calls
    text = _wootz._compare_engines(*engines, given, json.dumps({"tolerance": tolerance, "names": shown}))
    if text is None:
        raise ValueError(f"the comparison failed: {_wootz._take_errors() or 'see the log'}")
    if report is not None:
        with open(report, "w", encoding="utf-8") as file:
            file.write(_wootz._comparison_as(text, "html"))
    return {**json.loads(text), "seed": seed}


def _budget(budget):
    if isinstance(budget, str):
        return float(budget[:-1]) / 100 if budget.endswith("%") else float(budget)
    return budget


def quantize(model, output, data=None, format="int8", algorithm=None, keep=None, block=None, zero_points=None, bias_correction=None, budget=None,
             sensitivity=False, best=False, shapes=None, options=None, seed=None, batches=None, report=None, logger=None, sparse=None,
             dynamic=False):
    """Writes an ONNX model in another number format to the file `output`, and returns the report as a dictionary.

    model: path of an ONNX model. format: "int8" or "fp8" (QuantizeLinear and DequantizeLinear, by the ranges that activations
    have on the data), "int4" (weights of products in blocks of `block`, with or without zero points), "nvfp4" or "mxfp8" (the
    same in floats of 4 and 8 bits, in blocks of 16 and 32), "fp16" or "bf16" (inputs and outputs stay in FP32). data:
    representative inputs, as build()'s calibration_data; where they only serve to measure errors, which is not so for int8 (without `dynamic`) and fp8, it may be left out for random ones of `seed`. algorithm: "least_error", "entropy2",
    "entropy", "minmax" or "legacy". zero_points: of int8, activations that are hardly ever negative have one (default: on
    processors; not on GPUs, nor for TensorRT, which want i8 around 0). bias_correction: of int8, what rounding moves the means of layers'
    results by is added to their biases, if the outputs are closer to FP32's then (default). keep: names of layers that stay in float. budget: the greatest error of the outputs (0.005, "0.5%"): the layers
    that cost the most stay in float. sensitivity: measure what each layer alone costs. best: each layer has the format
    that was measured to be the fastest, of several in `format` ("int8,int4"), or stays in float. shapes: {input: shape} of dynamic inputs. options: of builds, as build() takes them. batches: most of
    them. report: file for the report as a page (.html). sparse: "2:4": of each four weights along the sum the two smallest become 0, which
    kernels may leave out (build(sparse_weights=True)); with format "fp32" nothing else changes. dynamic: int8 by a scale for each row of an
    activation (each token), found while the model runs: no data are needed; products with constant matrices take part, convolutions do not.
    """
    if data is None and ({"fp8"} if dynamic else {"int8", "fp8"}) & set(format.split(",")):
        raise ValueError(f"data: {format} needs representative inputs, from which the ranges of activations are")
    logger = logger or _wootz.Logger(_wootz.ILogger.Severity.ERROR)
    builder = _wootz.Builder(logger)
    network = builder.create_network(0)
    parser = _wootz.OnnxParser(network, logger)
    if not parser.parse_from_file(os.fspath(model)):
        problems = [str(parser.get_error(i)) for i in range(parser.num_errors)]
        raise BuildError("the model cannot be read:\n" + "\n".join(problems))
    inputs = [network.get_input(i) for i in range(network.num_inputs)]
    extents = {t.name: tuple((shapes or {}).get(t.name, t.shape)) for t in inputs}
    for name, shape in extents.items():
        if any(extent < 0 for extent in shape):
            raise ValueError(f"shapes: input '{name}' has dynamic dimensions {shape}: give its shape")
    given, seed = _batches_of("data", extents, {t.name: int(t.dtype) for t in inputs}, data, seed, batches)
    config = builder.create_builder_config()
    for key, value in (options or {}).items():
        config.set_option(key, value)
    asked = {"format": format, "algorithm": algorithm, "keep": None if keep is None else list(keep), "block": block,
             "zero_points": zero_points, "bias_correction": bias_correction, "budget": _budget(budget), "sensitivity": sensitivity, "best": best,
             "sparse": sparse, "dynamic": dynamic or None}
    _wootz._take_errors()  # those of earlier calls
    text = _wootz._quantize(builder, config, os.fspath(model), os.fspath(output), given,
                            json.dumps({key: value for key, value in asked.items() if value is not None}))
    if text is None:
        raise ValueError(f"{os.fspath(model)}: {_wootz._take_errors() or 'see the log'}")
    if report is not None:
        with open(report, "w", encoding="utf-8") as file:
            file.write(_wootz._quantization_as(text, "html"))
    return {**json.loads(text), "seed": seed}
