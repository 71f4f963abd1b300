"""Aten graphs of models: of what dynamo hands to a backend, and of exported programs."""
import contextlib

import torch
from torch._decomp import core_aten_decompositions
from torch._functorch.aot_autograd import aot_export_joint_simple
from torch.multiprocessing.reductions import StorageWeakRef

from . import converters
from ._types import Unsupported


def decompositions():
    """torch's, without those of operations that there are converters for."""
    return {op: rule for op, rule in core_aten_decompositions().items() if op not in converters.TABLE}


def is_static(value):
    """Whether an input of a dynamo graph is a parameter or a buffer."""
    return isinstance(value, torch.nn.Parameter) or getattr(value, "_dynamo_static_input_type", None) is not None


def from_dynamo(module, examples):
    """The aten graph module of a graph that dynamo found; Unsupported where it is no function of its inputs."""
    try:
        with torch.no_grad():
            with _resizes_kept():
                return aot_export_joint_simple(module, examples, trace_joint=False, decompositions=decompositions())
    except RuntimeError as error:
        for sign, why in _REFUSALS.items():
            if sign in str(error):
                raise Unsupported(why) from error
        raise Unsupported(f"torch cannot trace it ({str(error).strip().splitlines()[0][:200]})") from error


@contextlib.contextmanager
def _resizes_kept():
    """torch's tracing writes some resizes as indexing before any table of decompositions is asked: not here, where they have converters."""
    packets = [getattr(torch.ops.aten, f"{kind}{space}d", None) for kind in _RESIZES for space in (1, 2, 3)]
    overloads = [getattr(p, name) for p in packets if p is not None for name in p.overloads()]
    removed = [(op, dict(op.py_kernels)) for op in overloads if op.py_kernels]
    try:
        for op, _ in removed:
            op.py_kernels.clear()
            op._dispatch_cache.clear()
        yield
    finally:
        for op, kernels in removed:
            op.py_kernels.update(kernels)
            op._dispatch_cache.clear()


_RESIZES = ("upsample_nearest", "_upsample_nearest_exact", "upsample_linear", "upsample_bilinear", "upsample_trilinear", "upsample_bicubic")
_REFUSALS = {"input mutations": "it changes its inputs", "alias inputs": "its results are views of its inputs",
             "autograd Function": "it has an operation with a gradient of its own"}


def views_of_inputs(module):
    """Which results of a dynamo graph are views of its inputs: their numbers, a graph module of the other results, and one of these alone.
    None where there are none."""
    storages = {_storage(n) for n in module.graph.nodes if n.op == "placeholder"} - {None}
    results = module.graph.output_node().args[0]
    views = [i for i, r in enumerate(results) if isinstance(r, torch.fx.Node) and _storage(r) in storages]
    if not views:
        return None
    others = [i for i in range(len(results)) if i not in views]
    return views, _only(module, others), _only(module, views)


def _storage(node):
    value = node.meta.get("example_value")
    return StorageWeakRef(value.untyped_storage()) if isinstance(value, torch.Tensor) else None


def _only(module, results):
    """The part of a graph that gives these results, with the same arguments."""
    graph, values = torch.fx.Graph(), {}
    last = graph.graph_copy(module.graph, values)
    graph.output(tuple(last[i] for i in results))
    graph.eliminate_dead_code()
    return torch.fx.GraphModule(module, graph)


def attributes(module):
    """Tensors that are part of a graph module."""
    found = {}
    for node in module.graph.nodes:
        if node.op == "get_attr":
            value = module
            for part in node.target.split("."):
                value = getattr(value, part)
            if isinstance(value, torch.Tensor):
                found[node] = value
                node.meta.setdefault("val", value)
    return found


def from_export(program):
    """(program, graph module, {node: constant}, nodes of the user's inputs) of a torch.export.ExportedProgram."""
    program = program.run_decompositions(decompositions())
    signature = program.graph_signature
    if signature.buffers_to_mutate or signature.user_inputs_to_mutate:
        changed = [*signature.buffers_to_mutate.values(), *signature.user_inputs_to_mutate.values()]
        raise Unsupported(f"the model changes {', '.join(changed)}")
    module, constants, users = program.graph_module, {}, []
    module.meta["wootz_bounds"] = dict(program.range_constraints)
    for node in module.graph.nodes:
        if node.op != "placeholder":
            continue
        name = {**signature.inputs_to_parameters, **signature.inputs_to_buffers, **signature.inputs_to_lifted_tensor_constants}.get(node.name)
        if name is None:
            users.append(node)
        else:
            constants[node] = program.state_dict[name] if name in program.state_dict else program.constants[name]
    return program, module, {**constants, **attributes(module)}, users
