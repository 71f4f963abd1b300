"""ONNX to plan in one call."""
import json
import os

from . import _calibration, _wootz


class BuildError(RuntimeError):
    """The model could not be read or built; the message lists every problem."""


def _add_profiles(builder, config, profiles):
    for ranges in profiles:
        profile = builder.create_optimization_profile()
        for name, (low, opt, high) in ranges.items():
            profile.set_shape(name, low, opt, high)
        config.add_optimization_profile(profile)


def _parse(model, network, logger, options):
    """Reads a model, by its path or bytes, into a network; the parser may go, as the network holds the weights."""
    parser = _wootz.OnnxParser(network, logger)
    for key, value in (options or {}).items():
        parser.set_option(key, value)
    if isinstance(model, (str, os.PathLike)):
        parsed = parser.parse_from_file(os.fspath(model))
    else:
        parsed = parser.parse(bytes(model))
    if not parsed:
        problems = [str(parser.get_error(i)) for i in range(parser.num_errors)]
        raise BuildError("the model cannot be read:\n" + "\n".join(problems))


_PRECISIONS = ("fp16", "bf16", "int8", "fp8")


def _allow(config, precisions, sparse_weights):
    """Sets the builder flags of types by their names, and that of zeros in weights."""
    if sparse_weights:
        config.set_flag(_wootz.BuilderFlag.SPARSE_WEIGHTS)
    for name in precisions:
        if name == "fp32":
            config.clear_flag(_wootz.BuilderFlag.TF32)
        elif name in _PRECISIONS:
            config.set_flag(getattr(_wootz.BuilderFlag, name.upper()))
        else:
            raise ValueError(f"precision: '{name}' is none of {', '.join(('fp32', *_PRECISIONS))}")


def build(model, shapes=None, options=None, timing_cache=None, logger=None, parser_options=None, report=None,
          output=None, calibration_data=None, calibration_cache=None, calibration_algorithm=None, precision=(),
          sparse_weights=False):
    """Builds a plan from an ONNX model (path or bytes) and returns it as bytes.

    shapes: {input: (min, opt, max)} for the inputs with dynamic dimensions, or a list of such dictionaries, one per
    optimization profile. options: see IBuilderConfig.set_option. timing_cache: bytes of an earlier cache. report: file for
    the build report, a page for a browser (.html) or JSON (.json); the plan then keeps what the report is made of. output:
    file to write the plan to, with one weight in memory at a time; nothing is returned then.

    calibration_data: representative inputs, by which convolutions and products become INT8: {input: array}, an array where
    there is one input, an .npz or .npy file or a folder of such, or any iterable of these. Arrays are cut along their first
    axis into batches of the network's shapes, those of the first profile's optimum; the last batch is filled up from the
    array's beginning. calibration_cache: file with the scales: read if it is there, and then no data is needed or looked
    at, and otherwise written. calibration_algorithm: "least_error" (default), or as a calibrator of TensorRT "entropy2", "entropy",
    "minmax" or "legacy".

    precision: what layers may compute in where that is faster: "fp16", "bf16", "int8", "fp8", one of them or a list. A device
    that computes fast in none of them says so in a warning. "fp32": a GPU does not round what it multiplies to TF32, which it
    does otherwise and which has three digits.

    sparse_weights: kernels may leave out the zeros of weights of which two in each four along the sum are 0 (2:4), as
    BuilderFlag.SPARSE_WEIGHTS; the report says which layers have such, and whose kernels gain. quantize(sparse="2:4") makes
    such models.
    """
    logger = logger or _wootz.Logger(_wootz.ILogger.Severity.ERROR)
    builder = _wootz.Builder(logger)
    network = builder.create_network(0)
    config = builder.create_builder_config()
    _allow(config, [precision] if isinstance(precision, str) else precision, sparse_weights)
    _parse(model, network, logger, parser_options)
    for key, value in (options or {}).items():
        config.set_option(key, value)
    profiles = shapes if isinstance(shapes, (list, tuple)) else [shapes] if shapes else []
    _add_profiles(builder, config, profiles)
    calibrator = _calibration.calibrator(network, profiles, calibration_data, calibration_cache, calibration_algorithm, logger)
    if calibrator is not None:
        config.set_flag(_wootz.BuilderFlag.INT8)
        config.int8_calibrator = calibrator
        config.set_option("calibration", calibrator.algorithm)
    if timing_cache is not None:
        config.set_timing_cache(config.create_timing_cache(timing_cache), False)
    if report is not None:
        form = os.path.splitext(os.fspath(report))[1][1:]
        if form not in ("html", "json", "svg"):
            raise ValueError(f"report: '{report}' ends in none of .html, .json, .svg")
        config.profiling_verbosity = _wootz.ProfilingVerbosity.DETAILED
    _wootz._take_errors()  # those of earlier calls
    if output is not None:
        plan, built = None, builder.build_file(network, config, os.fspath(output))
    else:
        plan = builder.build_serialized_network(network, config)
        built = plan is not None
    if not built:
        cause = None if calibrator is None else calibrator.error
        raise BuildError(f"the build failed: {cause or _wootz._take_errors() or 'see the log'}") from cause
    if report is not None:
        with open(report, "w", encoding="utf-8") as file:
            file.write(builder.report(form))
    return None if plan is None else bytes(plan)


def backend_libraries(backend="cuda"):
    """The libraries that a backend opens at run time, as dictionaries: "name" with "version", or with "missing" (why it
    cannot be opened) and "without" (what follows, and what to do about it)."""
    return json.loads(_wootz._backend_libraries(backend))
