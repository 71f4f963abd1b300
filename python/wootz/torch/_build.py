"""From an aten graph to an engine."""
import torch

from .. import _wootz
from .._build import BuildError, _allow
from ._cache import Store, digest_of
from ._lowering import Lowering
from ._shapes import evaluate, is_symbolic, symbol_range
from ._types import Unsupported, may_round

_STRONGLY_TYPED = 1 << int(_wootz.NetworkDefinitionCreationFlag.STRONGLY_TYPED)
_LOGGER = None


def logger():
    """One for all engines: it prints errors."""
    global _LOGGER
    if _LOGGER is None:
        _LOGGER = _wootz.Logger(_wootz.ILogger.Severity.ERROR)
    return _LOGGER


def new_lowering(constants, options):
    """An empty network and what writes it: (builder, lowering)."""
    from .. import Builder

    builder = Builder(logger())
    network = builder.create_network(0 if options.precision else _STRONGLY_TYPED)
    lowering = Lowering(network, constants)
    lowering.builder = builder  # the network is part of it
    return lowering


def ranges_of(inputs):
    """{symbol: Range} of the inputs' open extents."""
    found = {}
    for node in inputs:
        given = getattr(node.graph.owning_module, "meta", {}).get("wootz_bounds", {})
        for size in node.meta["val"].shape:
            for symbol in size.node.expr.free_symbols if is_symbolic(size) else ():
                found.setdefault(symbol, symbol_range(symbol, size, given))
    return found


def _profile(builder, config, inputs, ranges):
    if not ranges:
        return
    profile = builder.create_optimization_profile()
    values = [{s: getattr(r, bound) for s, r in ranges.items()} for bound in ("low", "opt", "high")]
    for node in inputs:
        shape = node.meta["val"].shape
        if any(map(is_symbolic, shape)):
            profile.set_shape(node.name, *[tuple(evaluate(size, v) for size in shape) for v in values])
    config.add_optimization_profile(profile)


def _configured(lowering, device, options, ranges, timing):
    config = lowering.builder.create_builder_config()
    _allow(config, options.precision)
    if not may_round(lowering.network):
        config.clear_flag(_wootz.BuilderFlag.TF32)
    settings = {"backend": "cuda", "device": str(device.index or 0)} if device.type == "cuda" else {"backend": "cpu"}
    for key, value in {**settings, **dict(options.build)}.items():
        config.set_option(key, value)
    if options.workspace is not None:
        config.set_memory_pool_limit(_wootz.MemoryPoolType.WORKSPACE, options.workspace)
    if options.optimization_level is not None:
        config.builder_optimization_level = options.optimization_level
    _profile(lowering.builder, config, lowering.inputs, ranges)
    config.set_timing_cache(config.create_timing_cache(timing), True)
    return config


def build_plan(lowering, device, options, ranges, store):
    """The plan of a network that was written, as bytes."""
    timing_file = f"{device.type}.timing"
    config = _configured(lowering, device, options, ranges, store.read(timing_file))
    _wootz._take_errors()  # those of earlier calls
    plan = lowering.builder.build_serialized_network(lowering.network, config)
    if plan is None:
        raise BuildError(f"the build failed: {_wootz._take_errors() or 'see the log'}")
    cache = config.get_timing_cache()
    if cache is not None:
        store.write(timing_file, bytes(cache.serialize()))
    return bytes(plan)


def load_engine(plan, device):
    """An engine of a plan, given as bytes or as a path."""
    from .. import Runtime

    runtime = Runtime(logger(), device.index or 0 if device.type == "cuda" else None)
    _wootz._take_errors()
    engine = runtime.deserialize_cuda_engine(plan) if isinstance(plan, bytes) else runtime.load_file(str(plan))
    if engine is None:
        raise BuildError(f"the plan was refused: {_wootz._take_errors() or 'see the log'}")
    return engine


def engine_of(graph, constants, device, options, ranges, lowering=None):
    """An engine of a graph, from the store where it was built before: (engine, plan as bytes or path)."""
    store = Store(options.folder())
    digest = digest_of(graph, constants, sorted((str(s), r) for s, r in ranges.items()), device, options) if store.folder else None
    path = store.plan(digest) if digest else None
    if path is not None:
        try:
            return load_engine(path, device), path
        except BuildError:
            pass  # of another version, or damaged: it is built anew and replaced
    if lowering is None:
        lowering = lowered(graph, constants, options)
    plan = build_plan(lowering, device, options, ranges, store)
    if digest:
        store.write(f"{digest}.plan", plan)
    return load_engine(plan, device), plan


def lowered(graph, constants, options):
    """A graph as a network with its outputs marked; Unsupported where an operation cannot be converted."""
    lowering = new_lowering(constants, options)
    results = lowering.run(graph)
    if lowering.problems:
        node, why = next(iter(lowering.problems.items()))
        raise Unsupported(f"{node}: {why}")
    mark_outputs(lowering, results)
    return lowering


def mark_outputs(lowering, results):
    """Marks the tensors among a graph's results as outputs o0, o1, ...; each node once. Inputs and constants are no outputs of an engine."""
    network, seen = lowering.network, {}
    for node in output_nodes(results, lowering.constants):
        tensor = network.add_identity(lowering.values[node]).get_output(0)
        tensor.name = f"o{len(seen)}"
        network.mark_output(tensor)
        seen[node] = tensor
    return seen


def output_nodes(results, constants):
    """The nodes that an engine's outputs are, in order."""
    found = []
    for node in results:
        if isinstance(getattr(node, "meta", {}).get("val"), torch.Tensor) and node.op == "call_function" and node not in found:
            found.append(node)
    return found
