"""Which operations of a graph are computed by engines, and which stay with torch."""
import collections
import logging
import operator

import torch
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from .._build import BuildError
from ._block import block_of
from ._build import mark_outputs, new_lowering, output_nodes
from ._lowering import name_of
from ._types import Unsupported

log = logging.getLogger("wootz.torch")
_COUNTS = {"graphs": 0, "engines": 0, "left": []}


def statistics(reset=False):
    """What became of the graphs since the last reset: how many torch handed over ("graphs"), how many engines were made of them
    ("engines"), and the messages about what stays with torch ("left")."""
    told = {**_COUNTS, "left": list(_COUNTS["left"])}
    if reset:
        _COUNTS.update(graphs=0, engines=0, left=[])
    return told


def left(message):
    """Logs what stays with torch."""
    _COUNTS["left"].append(message)
    log.warning("wootz: %s", message)


def compiled(module, constants, device, options):
    """A callable that takes a graph module's arguments: one engine, or torch's code that calls several."""
    _COUNTS["graphs"] += 1
    if not output_nodes(module.graph.output_node().args[0], constants):
        return module.forward  # sizes and inputs: there is nothing to compute
    lowering = new_lowering(constants, options)
    results = lowering.run(module.graph)
    if not lowering.problems:
        _COUNTS["engines"] += 1
        mark_outputs(lowering, results)
        return block_of(module.graph, constants, device, options, lowering)
    message = _told(module.graph, lowering.problems)
    if options.whole_graph:
        raise Unsupported(message)
    left(message)
    return _divided(module, constants, device, options, set(lowering.problems))


def _told(graph, problems):
    """One line about what stays with torch."""
    count = sum(n.op == "call_function" for n in graph.nodes)
    first = {n: why for n, why in problems.items() if not why.startswith("it needs ")} or problems
    kinds = collections.Counter(f"{name_of(n)}: {why}" for n, why in first.items())
    parts = [text + (f" ({n} times)" if n > 1 else "") for text, n in kinds.most_common()]
    return f"{len(problems)} of {count} operations stay with torch: " + "; ".join(parts)


class _Support(OperatorSupportBase):
    def __init__(self, problems):
        self.problems = problems

    def is_node_supported(self, submodules, node):
        if node.op != "call_function" or node in self.problems:
            return False
        if node.target is operator.getitem:
            return self.is_node_supported(submodules, node.args[0])
        return isinstance(node.meta.get("val"), (torch.Tensor, tuple, list))


def _divided(module, constants, device, options, problems):
    partitioner = CapabilityBasedPartitioner(module, _Support(problems), allows_single_node_partition=True)
    parts = [p for p in partitioner.propose_partitions() if _size(p) >= options.min_block_size]
    if not parts:
        left(f"no part of the rest has {options.min_block_size} operations (min_block_size)")
        return module.forward
    fused = partitioner.fuse_partitions(parts)
    for node in list(fused.graph.nodes):
        if node.op == "call_module":
            _replace(fused, node, constants, device, options)
    fused.recompile()
    return fused.forward


def _size(part):
    return sum(node.target is not operator.getitem for node in part.nodes)


def _replace(module, node, constants, device, options):
    """A part by a block that computes it, where it can be one."""
    part = getattr(module, node.target)
    places = [n for n in part.graph.nodes if n.op == "placeholder"]
    inside = {p: constants[a] for p, a in zip(places, node.args) if a in constants}
    inside.update({n: getattr(part, n.target) for n in part.graph.nodes if n.op == "get_attr"})
    for place, outer in zip(places, node.args):
        place.meta.setdefault("val", outer.meta.get("val"))
    output = part.graph.output_node()
    single = not isinstance(output.args[0], (tuple, list))
    if single:
        output.args = ((output.args[0],),)
    try:
        lowering = new_lowering(inside, options)
        results = lowering.run(part.graph)
        if lowering.problems:
            raise Unsupported(_told(part.graph, lowering.problems))
        mark_outputs(lowering, results)
        block = block_of(part.graph, inside, device, options, lowering)
    except (Unsupported, BuildError) as why:
        left(f"a part of {len(part.graph.nodes)} operations stays with torch: {why}")
        if single:
            output.args = (output.args[0][0],)
        return
    _COUNTS["engines"] += 1
    setattr(module, node.target, _Part(block, single))


class _Part(torch.nn.Module):
    """A block as a module that a graph calls."""

    def __init__(self, block, single):
        super().__init__()
        block.plan = None  # a model that is divided is not saved
        self.call, self.single = block.call, single

    def forward(self, *args):
        results = self.call(args)
        return results[0] if self.single else results
