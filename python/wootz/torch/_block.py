"""A part of a model that an engine computes, called with torch's tensors."""
import threading

import sympy
import torch
from torch._C._dynamo.guards import _empty_strided_cpu, _empty_strided_cuda

from .._wootz import _take_errors, _TensorCall
from ._build import engine_of, output_nodes, ranges_of
from ._shapes import expression, is_symbolic
from ._types import Unsupported


_cuda_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)
_exchange = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
_TENSORS = (torch.Tensor, torch.nn.Parameter)  # classes that do no more than hold memory


class Block:
    """Calls an engine. Inputs and outputs are torch's memory; outputs are new tensors. A call is one inference on the current stream.

    spec: what is known without the graph: `Spec`. plan, engine: of the ranges that the spec says.
    """

    def __init__(self, spec, device, engine, plan, rebuild=None):
        self.spec, self.device, self.plan, self._rebuild = spec, device, plan, rebuild
        self._lock = threading.Lock()
        self._empty = _empty_strided_cuda if device.type == "cuda" else _empty_strided_cpu
        self._use(engine)
        self.call = self._caller()

    def _use(self, engine):
        self.engine, self._contexts, self._shapes, self._of_shapes, self._short = engine, {}, {}, {}, None
        self._inputs = [(i, name) for i, name, *_ in self.spec.inputs]
        self._outputs = [(f"o{k}", dtype) for k, (_, dtype) in enumerate(self.spec.outputs)]

    def __call__(self, *args):
        return self.call(args)

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
        """A function of the arguments' tuple that does a call, with as little on the way as there can be."""
        lock, spec = self._lock, self.spec

        def call(args):
            with lock:
                short = self._short
                outputs = None if short is None else short.run(args)
                if outputs is None:
                    outputs = self._by_the_long_way(args)
            if outputs is False:
                raise RuntimeError(f"the inference failed: {_errors()}")
            return outputs if spec.plain else spec.results(args, outputs)

        return call

    def try_short(self, args):
        """The results of arguments that are as those of the last call; None: they are not, or there was none."""
        if self._short is None or not self.spec.plain:
            return None
        with self._lock:
            outputs = None if self._short is None else self._short.run(args)
        if outputs is False:
            raise RuntimeError(f"the inference failed: {_errors()}")
        return outputs

    def _by_the_long_way(self, args):
        """What is looked up here is kept for the next call, which the short way does where it is given the like on this stream."""
        stream = _cuda_stream(self.device.index or 0) if self.device.type == "cuda" else 0
        context, wanted, seen = self._shaped(args, stream)
        kept, outputs = [], []
        for place, name in self._inputs:
            tensor = args[place].contiguous()
            if tensor.is_cuda and tensor.data_ptr() % 16:  # a part of another tensor: engines read 16 bytes at once
                tensor = tensor.clone()
            kept.append(tensor)
            context.set_tensor_address(name, tensor.data_ptr())
        for name, form in wanted:
            tensor = self._empty(*form)
            context.set_tensor_address(name, tensor.data_ptr())
            outputs.append(tensor)
        if not context.execute_async_v3(stream):
            return False
        self._short = self._short_way(context, stream, args, wanted) if seen else None
        return outputs

    def _short_way(self, context, stream, args, wanted):
        if _exchange is None:
            return None
        try:
            return _TensorCall(context, _exchange, _TENSORS, self._empty, stream, args, self._inputs, wanted)
        except ValueError:  # tensors of other classes
            return None

    def _context_of(self, stream):
        """A stream's own: contexts have memory that inferences of two streams cannot share."""
        context = self._contexts.get(stream)
        if context is None:
            context = self._contexts[stream] = self.engine.create_execution_context()
        return context

    def _shaped(self, args, stream):
        """The stream's context set to the shapes of these inputs; its outputs: name, and what makes one; whether they were so before."""
        shapes = tuple([args[i].shape for i, _ in self._inputs])
        if self._shapes.get(stream) == shapes:
            return self._contexts[stream], self._of_shapes[stream], True
        if self.spec.symbols:
            self._widen(args)
        context = self._context_of(stream)
        self._of_shapes[stream] = [(name, (shape, _strides(shape), dtype)) for name, shape, dtype in self._sized(context, shapes)]
        self._shapes[stream] = shapes
        return context, self._of_shapes[stream], not self.spec.symbols

    def _sized(self, context, shapes):
        """Sets inputs' shapes: name, shape and type of each output."""
        if not self.spec.symbols:
            return [(name, shape, dtype) for (name, dtype), (shape, _) in zip(self._outputs, self.spec.outputs)]
        for (_, name), shape in zip(self._inputs, shapes):
            if not context.set_input_shape(name, tuple(shape)):
                raise RuntimeError(f"input {name}: shape {tuple(shape)} is refused: {_errors()}")
        context.infer_shapes()
        return [(name, tuple(context.get_tensor_shape(name)), dtype) for name, dtype in self._outputs]

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
    return _take_errors() or "see the log"
