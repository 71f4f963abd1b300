"""An aten graph as a network: each operation by its converter, with extents and types held against what torch says they are."""
import operator

import torch
from torch import fx

from . import converters
from ._shapes import is_symbolic
from ._types import Unsupported, to_network
from ._writer import Writer

_NO_RESULT = (torch.SymInt, torch.SymFloat, torch.SymBool, int, float, bool, type(None))


class Lowering(Writer):
    """Writes a graph's operations into a network.

    constants: {placeholder or get_attr node: torch tensor}. Every other placeholder that is a tensor is an input, named by its node.
    """

    def __init__(self, network, constants):
        super().__init__(network)
        self.constants, self.values, self.inputs, self.problems = constants, {}, [], {}

    def run(self, graph):
        """Converts all of a graph. What cannot be converted is a key of `problems`, with the reason; its results are then inputs, so that
        one run finds all problems. Returns the output's arguments as they are in the graph."""
        with torch.device("cpu"):  # where converters make constants, also while torch makes tensors elsewhere by default
            for node in [n for n in graph.nodes if n.op == "placeholder"]:
                self._place(node)
            for node in graph.nodes:
                if node.op == "get_attr" and node in self.constants:
                    self.values[node] = self.constant(self.constants[node])
                elif node.op == "call_function":
                    self._convert(node)
        return graph.output_node().args[0]

    def _place(self, node):
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor) or not node.users:
            return
        try:
            if node in self.constants:
                self.values[node] = self.constant(self.constants[node])
            else:
                self.values[node] = self._input(node.name, value)
                self.inputs.append(node)
        except Unsupported as why:
            self.problems[node] = str(why)

    def _input(self, name, value):
        sizes = [-1 if is_symbolic(s) else int(s) for s in value.shape]
        if len(sizes) > 8:
            raise Unsupported(f"{len(sizes)} axes")
        tensor = self.network.add_input(name, to_network(value.dtype), tuple(sizes))
        if tensor is None:
            raise Unsupported(f"input {name} of shape {tuple(value.shape)}")
        for axis, size in enumerate(value.shape):
            if is_symbolic(size):
                tensor.set_dimension_name(axis, str(size.node.expr))
        self.extents.add_input(tensor, value.shape)
        return tensor

    def _convert(self, node):
        self.node, self.result = node, node.meta.get("val")
        try:
            made = self._made_by_converter(node)
            if made is not None:
                self.values[node] = made
        except Unsupported as why:
            self.problems[node] = str(why)
            self._go_on(node)

    def _made_by_converter(self, node):
        if node.target is operator.getitem and isinstance(node.args[0], fx.Node):
            part = self._argument(node.args[0])[node.args[1]]
            if part is None and node.users:
                raise Unsupported(f"result {node.args[1]} of {name_of(node.args[0])}")
            return part
        if isinstance(self.result, _NO_RESULT):
            return None  # numbers are read from what torch says of them
        converter = converters.TABLE.get(node.target)
        if converter is None:
            raise Unsupported("no converter")
        args, kwargs = fx.node.map_aggregate((node.args, dict(node.kwargs)), self._argument)
        try:
            made = converter(self, *args, **kwargs)
        except (TypeError, KeyError, IndexError, AttributeError) as error:
            raise Unsupported(f"not in this form ({type(error).__name__}: {error})") from error
        return self._checked(made, self.result)

    def _argument(self, value):
        if not isinstance(value, fx.Node):
            return value
        known = value.meta.get("val")
        if isinstance(known, _NO_RESULT):
            return known
        if value not in self.values:
            raise Unsupported(f"it needs {value.name}, which is not here")
        return self.values[value]

    def _checked(self, made, expected):
        """What a converter gave, in the type that torch gives it; Unsupported where the shape is another."""
        if isinstance(made, (tuple, list)):
            return tuple(None if m is None else self._checked(m, e) for m, e in zip(made, expected))
        made = self.cast(made, expected.dtype)
        want = [-1 if is_symbolic(s) else int(s) for s in expected.shape]
        have = list(made.shape)
        if len(have) != len(want) or any(h != w and -1 not in (h, w) for h, w in zip(have, want)):
            raise Unsupported(f"the shape would be {have}, not {want}")
        return made

    def _go_on(self, node):
        """Inputs in place of what could not be converted."""
        try:
            if isinstance(self.result, torch.Tensor):
                self.values[node] = self._input(f"{node.name}_missing", self.result)
            elif isinstance(self.result, (tuple, list)):
                self.values[node] = tuple(self._input(f"{node.name}_missing_{i}", r) if isinstance(r, torch.Tensor) else None
                                          for i, r in enumerate(self.result))
        except Unsupported:
            pass


def name_of(node):
    """An operation's name, as messages have it."""
    return str(node.target) if node.op == "call_function" else node.name
