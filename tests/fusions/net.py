"""ONNX graphs by calls that nest like an expression, with seeded weights."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Net:
    def __init__(self, opset=18, seed=1):
        self.nodes, self.constants, self.inputs, self.opset = [], [], [], opset
        self.random = np.random.default_rng(seed)
        self.counts = {}

    def input(self, *shape, name="x", dtype=np.float32):
        """Extents are numbers, or names of what is open."""
        self.inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape))
        return name

    def const(self, value, dtype=np.float32):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def ints(self, *values):
        return self.const(values, np.int64)

    def weights(self, *shape, scale=None):
        fan = int(np.prod(shape[1:])) or 1
        return self.const(self.random.standard_normal(shape) * (scale or fan**-0.5))

    def positive(self, *shape):
        return self.const(self.random.uniform(0.5, 1.5, shape))

    def op(self, kind, *inputs, outputs=1, **attrs):
        """Numbers among the inputs become scalar constants, None is an omitted input."""
        names = ["" if i is None else i if isinstance(i, str) else self.const(i) for i in inputs]
        count = self.counts[kind] = self.counts.get(kind, 0) + 1
        results = [f"{kind.lower()}{count}_out" if outputs == 1 else f"{kind.lower()}{count}_out{o}" for o in range(outputs)]
        self.nodes.append(helper.make_node(kind, names, results, f"{kind.lower()}{count}", **attrs))
        return results[0] if outputs == 1 else results

    def __getattr__(self, kind):
        if not kind[0].isupper():
            raise AttributeError(kind)
        return lambda *inputs, **attrs: self.op(kind, *inputs, **attrs)

    def conv(self, x, cin, cout, kernel=3, stride=1, groups=1, bias=True, rank=2, pads=None):
        pads = [kernel // 2] * 2 * rank if pads is None else pads
        parts = [x, self.weights(cout, cin // groups, *[kernel] * rank)] + ([self.weights(cout, scale=0.1)] if bias else [])
        return self.op("Conv", *parts, kernel_shape=[kernel] * rank, strides=[stride] * rank, pads=pads, group=groups)

    def batch_norm(self, x, channels):
        return self.op("BatchNormalization", x, self.positive(channels), self.weights(channels, scale=0.1),
                       self.weights(channels, scale=0.1), self.positive(channels))

    def model(self, *outputs):
        values = [helper.make_tensor_value_info(o, TensorProto.UNDEFINED, None) for o in outputs]
        for value in values:
            value.ClearField("type")
        graph = helper.make_graph(self.nodes, "net", self.inputs, values, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)
        model = onnx.shape_inference.infer_shapes(model)
        known = {v.name: v for v in model.graph.value_info}
        for value in model.graph.output:
            if not value.HasField("type"):
                value.CopyFrom(known[value.name])
        onnx.checker.check_model(model)
        return model


# Activations as exporters spell them out.
def gelu_erf(n, x):
    return n.Mul(n.Mul(x, n.Add(n.Erf(n.Div(x, 2**0.5)), 1.0)), 0.5)


def gelu_tanh(n, x):
    cubic = n.Mul(n.Pow(x, 3.0), 0.044715)
    return n.Mul(n.Mul(x, 0.5), n.Add(n.Tanh(n.Mul(n.Add(x, cubic), (2 / np.pi) ** 0.5)), 1.0))


def silu(n, x):
    return n.Mul(x, n.Sigmoid(x))


def hard_swish(n, x):
    return n.Div(n.Mul(x, n.Clip(n.Add(x, 3.0), 0.0, 6.0)), 6.0)


def mish(n, x):
    return n.Mul(x, n.Tanh(n.Log(n.Add(n.Exp(x), 1.0))))


def leaky_relu(n, x):
    return n.Max(x, n.Mul(x, 0.1))


def batch_norm_spelled(n, x, shape, channels):
    """(x - mean) / sqrt(var + eps) * scale + bias with constants of the given shape, as tf2onnx leaves it."""
    at = lambda name: n.const(n.random.uniform(0.5, 1.5, channels).reshape(shape))
    centered = n.Sub(x, at("mean"))
    return n.Add(n.Mul(n.Mul(centered, n.Reciprocal(n.Sqrt(n.Add(at("var"), 1e-3)))), at("scale")), at("bias"))
