"""ONNX to plan in one call."""
import json
import os

from . import _wootz


class BuildError(RuntimeError):
    """The model could not be read or built; the message lists every problem."""


def build(model, shapes=None, options=None, timing_cache=None, logger=None, parser_options=None, report=None,
          output=None):
    """Builds a plan from an ONNX model (path or bytes) and returns it as bytes.

    shapes: {input: (min, opt, max)} for the inputs with dynamic dimensions, or a list of such dictionaries, one per
    optimization profile. options: see IBuilderConfig.set_option. timing_cache: bytes of an earlier cache. report: file for
    the build report, a page for a browser (.html) or JSON (.json); the plan then keeps what the report is made of. output:
    file to write the plan to, with one weight in memory at a time; nothing is returned then.
    """
    logger = logger or _wootz.Logger(_wootz.ILogger.Severity.ERROR)
    builder = _wootz.Builder._create(logger)
    network = builder.create_network(0)
    parser = _wootz.OnnxParser._create(network, logger)
    for key, value in (parser_options or {}).items():
        parser.set_option(key, value)
    if isinstance(model, (str, os.PathLike)):
        parsed = parser.parse_from_file(os.fspath(model))
    else:
        parsed = parser.parse(bytes(model))
    if not parsed:
        problems = [str(parser.get_error(i)) for i in range(parser.num_errors)]
        raise BuildError("the model cannot be read:\n" + "\n".join(problems))
    config = builder.create_builder_config()
    for key, value in (options or {}).items():
        config.set_option(key, value)
    profiles = shapes if isinstance(shapes, (list, tuple)) else [shapes] if shapes else []
    for ranges in profiles:
        profile = builder.create_optimization_profile()
        for name, (low, opt, high) in ranges.items():
            profile.set_shape(name, low, opt, high)
        config.add_optimization_profile(profile)
    if timing_cache is not None:
        config.set_timing_cache(config.create_timing_cache(timing_cache), False)
    if report is not None:
        form = os.path.splitext(os.fspath(report))[1][1:]
        if form not in ("html", "json", "svg"):
            raise ValueError(f"report: '{report}' ends in none of .html, .json, .svg")
        config.profiling_verbosity = _wootz.ProfilingVerbosity.DETAILED
    if output is not None:
        plan, built = None, builder.build_file(network, config, os.fspath(output))
    else:
        plan = builder.build_serialized_network(network, config)
        built = plan is not None
    if not built:
        raise BuildError("the build failed: see the log")
    if report is not None:
        with open(report, "w", encoding="utf-8") as file:
            file.write(builder.report(form))
    return None if plan is None else bytes(plan)


def backend_libraries(backend="cuda"):
    """The libraries that a backend opens at run time, as dictionaries: "name" with "version", or with "missing" (why it
    cannot be opened) and "without" (what follows, and what to do about it)."""
    return json.loads(_wootz._backend_libraries(backend))
