"""A part of a model that an engine computes, called with torch's tensors."""
import threading

import sympy
import torch
from torch._C._dynamo.guards import _empty_strided_cpu, _empty_strided_cuda

from ._build import engine_of, output_nodes, ranges_of
from ._shapes import expression, is_symbolic
from ._types import Unsupported


_cuda_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)


class Block:
    """Calls an engine. Inputs and outputs are torch's memory; outputs are new tensors. A call is one inference on the current stream.

    spec: what is known without the graph: `Spec`. plan, engine: of the ranges that the spec says.
    """

    def __init__(self, spec, device, engine, plan, rebuild=None):
        self.spec, self.device, self.plan, self._rebuild = spec, device, plan, rebuild
        self._lock = threading.Lock()
        self._use(engine)
        self.call = self._caller()

    def _use(self, engine):
        self.engine, self._contexts, self._shapes, self._of_shapes = engine, {}, {}, {}
        self._inputs = [(i, name) for i, name, *_ in self.spec.inputs]
        self._outputs = [(f"o{k}", dtype) for k, (_, dtype) in enumerate(self.spec.outputs)]

    def __call__(self, *args):
        return self.call(*args)

    def check(self, args):
        """Arguments as the engine needs them; TypeError or ValueError where one is not. torch.compile's guards say so by themselves."""
        for place, name, dtype, shape in self.spec.inputs:
            tensor = args[place]
            if not isinstance(tensor, torch.Tensor) or tensor.dtype != dtype:
                raise TypeError(f"input {name} is {getattr(tensor, 'dtype', type(tensor).__name__)}; the model was compiled for {dtype}")
            if tensor.device.type != self.device.type or (tensor.device.index or 0) != (self.device.index or 0):
                raise ValueError(f"input {name} is on {tensor.device}; the model was compiled for {self.device}")
            if len(shape) != tensor.dim() or any(want is not None and want != have for want, have in zip(shape, tensor.shape)):
                raise ValueError(f"input {name} is {tuple(tensor.shape)}; the model was compiled for {shape}, where None is open")
        return args

    def _caller(self):
        """A function that does a call, with as little on the way as there can be."""
        lock, spec, index, inputs = self._lock, self.spec, self.device.index or 0, self._inputs
        on_gpu, context_of, shaped = self.device.type == "cuda", self._context_of, self._shaped
        empty = _empty_strided_cuda if on_gpu else _empty_strided_cpu
        fixed = None if spec.symbols else [(f"o{k}", shape, _strides(shape), dtype) for k, (shape, dtype) in enumerate(spec.outputs)]

        def call(*args):
            stream = _cuda_stream(index) if on_gpu else 0
            kept, outputs = [], []
            with lock:
                context, wanted = (context_of(stream), fixed) if fixed is not None else shaped(args, stream)
                set_address = context.set_tensor_address
                for place, name in inputs:
                    tensor = args[place]
                    if not tensor.is_contiguous():
                        tensor = tensor.contiguous()
                        kept.append(tensor)
                    set_address(name, tensor.data_ptr())
                for name, shape, strides, dtype in wanted:
                    tensor = empty(shape, strides, dtype)
                    set_address(name, tensor.data_ptr())
                    outputs.append(tensor)
                if not context.execute_async_v3(stream):
                    raise RuntimeError(f"the inference failed: {_errors()}")
            return outputs if spec.plain else spec.results(args, outputs)

        return call

    def _context_of(self, stream):
        """A stream's own: contexts have memory that inferences of two streams cannot share."""
        context = self._contexts.get(stream)
        if context is None:
            context = self._contexts[stream] = self.engine.create_execution_context()
        return context

    def _shaped(self, args, stream):
        """The stream's context set to the shapes of these inputs, and its outputs: name, shape, strides, type."""
        shapes = tuple([args[i].shape for i, _ in self._inputs])
        if self._shapes.get(stream) == shapes:
            return self._contexts[stream], self._of_shapes[stream]
        self._widen(args)
        context = self._context_of(stream)
        for (_, name), shape in zip(self._inputs, shapes):
            if not context.set_input_shape(name, tuple(shape)):
                raise RuntimeError(f"input {name}: shape {tuple(shape)} is refused: {_errors()}")
        context.infer_shapes()
        wanted = [(name, tuple(context.get_tensor_shape(name)), dtype) for name, dtype in self._outputs]
        self._of_shapes[stream] = [(name, shape, _strides(shape), dtype) for name, shape, dtype in wanted]
        self._shapes[stream] = shapes
        return context, self._of_shapes[stream]

    def _widen(self, args):
        """Takes another engine, for wider ranges, where this one does not take these extents."""
        values = self.spec.values(args)
        outside = {s: v for s, v in values.items() if not self.spec.symbols[s].holds(v)}
        if not outside:
            return
        if self._rebuild is None:
            name, value = next(iter(outside.items()))
            r = self.spec.symbols[name]
            raise ValueError(f"extent {name} is {value}; the engine was built for {r.low} to {r.high}")
        symbols = {s: r.widened(values[s]) if s in values else r for s, r in self.spec.symbols.items()}
        engine, plan = self._rebuild(symbols)
        self.plan = plan if self.plan is not None else None
        self.spec.symbols = symbols
        self._use(engine)


def _strides(shape):
    """Those of a tensor that is row-major."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


class Spec:
    """What calls need to know of a graph. inputs: (argument, name, dtype, shape with None where it is open); outputs: (shape, dtype), where shapes are fixed; form: of each
    result ("output", n), ("argument", n), ("constant", tensor), ("extent", expression), ("value", number); symbols: {name: Range};
    places: {symbol name: (argument, axis)}."""

    def __init__(self, inputs, outputs, form, symbols, places):
        self.inputs, self.outputs, self.form, self.symbols, self.places = inputs, outputs, form, symbols, places
        self.plain = form == [("output", n) for n in range(len(outputs))]

    def values(self, args):
        """The extents that are symbols, of these arguments."""
        return {name: int(args[i].shape[axis]) for name, (i, axis) in self.places.items()}

    def results(self, args, outputs):
        made = {"output": lambda n: outputs[n], "argument": lambda n: args[n], "constant": lambda t: t, "value": lambda v: v,
                "extent": lambda e: int(sympy.sympify(e).subs(self.values(args)))}
        return [made[kind](value) for kind, value in self.form]

    @classmethod
    def of(cls, graph, constants, inputs):
        """Of a graph whose inputs are these nodes."""
        order = {n: i for i, n in enumerate(n for n in graph.nodes if n.op == "placeholder")}
        results = graph.output_node().args[0]
        nodes = output_nodes(results, constants)
        outputs = [(tuple(s if is_symbolic(s) else int(s) for s in n.meta["val"].shape), n.meta["val"].dtype) for n in nodes]
        places = {}
        for node in inputs:
            for axis, size in enumerate(node.meta["val"].shape):
                if is_symbolic(size) and expression(size).is_Symbol:
                    places.setdefault(str(expression(size)), (order[node], axis))
        ranges = ranges_of(inputs)
        if missing := [s for s in ranges if str(s) not in places]:
            raise Unsupported(f"extent {missing[0]} is that of no input")
        form = [_form(r, nodes, order, constants) for r in results]
        taken = [(order[n], n.name, n.meta["val"].dtype, tuple(None if is_symbolic(s) else int(s) for s in n.meta["val"].shape)) for n in inputs]
        return cls(taken, outputs, form, {str(s): r for s, r in ranges.items()}, places)


def _form(result, nodes, order, constants):
    if result in nodes:
        return "output", nodes.index(result)
    if result in order:
        return "argument", order[result]
    if result in constants:
        return "constant", constants[result]
    value = result.meta.get("val") if hasattr(result, "meta") else result
    return ("extent", str(expression(value))) if is_symbolic(value) else ("value", value)


def block_of(graph, constants, device, options, lowering):
    """A block that computes a whole graph, which `lowering` has written with its outputs."""
    spec = Spec.of(graph, constants, lowering.inputs)
    symbols = {str(s): s for s in ranges_of(lowering.inputs)}

    def build(ranges, written=None):
        return engine_of(graph, constants, device, options, {symbols[name]: r for name, r in ranges.items()}, written)

    engine, plan = build(spec.symbols, lowering)
    return Block(spec, device, engine, plan, build)


def _errors():
    from .._wootz import _take_errors

    return _take_errors() or "see the log"
