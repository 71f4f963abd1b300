"""Transformer blocks as exporters write them: fused, they must give what they give with the optimizer off, in as few
steps as the fusions promise. The graphs are written down here node by node, after what torch's exporters and older
converters emit."""
import json
import math

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import wootz

B, S, H, D = 2, 11, 4, 8
E = H * D


class Net:
    """Nodes one after another; constants and names are made on the way."""

    def __init__(self, seed=5):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.constants, self.inputs, self.names = [], [], [], 0

    def name(self):
        self.names += 1
        return f"v{self.names}"

    def const(self, array):
        name = self.name()
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def weight(self, *shape):
        return self.const((self.rng.standard_normal(shape) / math.sqrt(shape[0])).astype(np.float32))

    def input(self, name, shape, kind=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def op(self, kind, *inputs, outputs=1, **attrs):
        names = [self.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, **attrs))
        return names[0] if outputs == 1 else names

    def linear(self, x, n_in=E, n_out=E):
        return self.op("Add", self.op("MatMul", x, self.weight(n_in, n_out)), self.weight(n_out))

    def f32(self, value):
        return self.const(np.float32(value))

    def ints(self, *values):
        return self.const(np.array(values, np.int64))

    def heads(self, x, perm=(0, 2, 1, 3), heads=H):
        return self.op("Transpose", self.op("Reshape", x, self.ints(0, 0, heads, D)), perm=list(perm))

    def merged(self, y):
        return self.op("Reshape", self.op("Transpose", y, perm=[0, 2, 1, 3]), self.ints(0, 0, E))

    def model(self, *results):
        outs = [helper.make_tensor_value_info(r, TensorProto.FLOAT, None) for r in results]
        graph = helper.make_graph(self.nodes, "block", self.inputs, outs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
        return model.SerializeToString()


def engine_of(model, shapes, options):
    logger = wootz.Logger(wootz.Logger.ERROR)
    builder = wootz.Builder(logger)
    network = builder.create_network(0)
    parser = wootz.OnnxParser(network, logger)
    assert parser.parse(model), [str(parser.get_error(i)) for i in range(parser.num_errors)]
    config = builder.create_builder_config()
    config.profiling_verbosity = wootz.ProfilingVerbosity.DETAILED
    for key, value in {"timing": "0", **options}.items():
        config.set_option(key, value)
    if shapes:
        profile = builder.create_optimization_profile()
        for name, (low, opt, high) in shapes.items():
            profile.set_shape(name, low, opt, high)
        config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    assert plan is not None
    return wootz.Runtime(logger).deserialize_cuda_engine(bytes(plan))


def run(model, inputs, shapes, options):
    engine = engine_of(model, shapes, options)
    outs = wootz.infer(engine.create_execution_context(), inputs)
    inspector = engine.create_engine_inspector()
    layers = json.loads(inspector.get_engine_information(wootz.LayerInformationFormat.JSON))["Layers"]
    return [np.array(v) for v in outs.values()], layers


def check(model, inputs, steps=None, shapes=None, tolerance=2e-5):
    """Same results with and without passes, and by the reference; the number of steps."""
    plain, _ = run(model, inputs, shapes, {"disable_passes": "all"})
    fused, layers = run(model, inputs, shapes, {"verify_passes": "1"})
    for a, b in zip(fused, plain):
        assert a.shape == b.shape
        assert np.array_equal(np.isnan(a), np.isnan(b))
        scale = max(1e-6, np.nanmax(np.abs(b)))
        assert np.nanmax(np.abs(a - b)) <= tolerance * scale
    if steps is not None:
        assert len(layers) == steps, "\n".join(json.dumps(layer) for layer in layers)
    return layers


def data(*shape, seed=3):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def sdpa(net, q, k, v, mask=None, guard=True):
    """torch.onnx.export(dynamo=True): the root of the scale on both sides, a guard against rows that see nothing."""
    root = net.f32(D ** -0.25)
    kt = net.op("Transpose", net.op("Reshape", k, net.ints(-1, S, D)), perm=[0, 2, 1])
    kt = net.op("Reshape", kt, net.ints(B, H, D, S))
    s = net.op("MatMul", net.op("Mul", q, root), net.op("Mul", kt, root))
    if mask is not None:
        s = net.op("Add", s, mask)
    p = net.op("Softmax", s, axis=-1)
    if guard:
        p = net.op("Where", net.op("IsNaN", p), net.f32(0), p)
    return net.op("MatMul", p, v)


def layer_norm(net, x, size=E):
    d = net.op("Sub", x, net.op("ReduceMean", x, net.ints(-1)))
    v = net.op("ReduceMean", net.op("Pow", d, net.f32(2)), net.ints(-1))
    n = net.op("Div", d, net.op("Sqrt", net.op("Add", v, net.f32(1e-5))))
    return net.op("Add", net.op("Mul", n, net.weight(size)), net.weight(size))


def gelu(net, x):
    erf = net.op("Erf", net.op("Div", x, net.f32(math.sqrt(2))))
    return net.op("Mul", net.op("Mul", x, net.op("Add", erf, net.f32(1))), net.f32(0.5))


def test_encoder_layer():
    net = Net()
    x = net.input("x", [B, S, E])
    m = net.input("m", [B, 1, 1, S])
    q, k, v = (net.heads(net.linear(x)) for _ in range(3))
    y = net.linear(net.merged(sdpa(net, q, k, v, m)))
    h = layer_norm(net, net.op("Add", y, x))
    f = net.linear(gelu(net, net.linear(h, E, 3 * E)), 3 * E, E)
    out = layer_norm(net, net.op("Add", f, h))
    mask = np.zeros((B, 1, 1, S), np.float32)
    mask[0, ..., 7:] = -np.inf
    check(net.model(out), {"x": data(B, S, E), "m": mask}, steps=7)


def test_rows_that_see_nothing():
    for guard in (True, False):
        net = Net()
        x = net.input("x", [B, S, E])
        m = net.input("m", [B, 1, S, S])
        q, k, v = (net.heads(net.linear(x)) for _ in range(3))
        out = net.merged(sdpa(net, q, k, v, m, guard))
        mask = np.zeros((B, 1, S, S), np.float32)
        mask[1, :, 4, :] = -np.inf
        check(net.model(out), {"x": data(B, S, E), "m": mask}, steps=2)


def test_dynamic_extents():
    net = Net()
    x = net.input("x", ["batch", "length", E])
    m = net.input("m", ["batch", "length"], TensorProto.BOOL)
    q, v = net.heads(net.linear(x)), net.heads(net.linear(x))
    k = net.heads(net.linear(x), (0, 2, 3, 1))
    s = net.op("Div", net.op("MatMul", q, k), net.f32(math.sqrt(D)))
    s = net.op("Where", net.op("Unsqueeze", m, net.ints(1, 2)), s, net.f32(np.finfo(np.float32).min))
    out = net.merged(net.op("MatMul", net.op("Softmax", s, axis=-1), v))
    model = net.model(out)
    rng = np.random.default_rng(1)
    shapes = {"x": ((1, 1, E), (2, 16, E), (4, 64, E)), "m": ((1, 1), (2, 16), (4, 64))}
    for batch, length in ((2, 16), (1, 1), (4, 64), (3, 5)):
        inputs = {"x": data(batch, length, E), "m": rng.integers(0, 2, (batch, length)).astype(bool)}
        check(model, inputs, steps=3, shapes=shapes)  # product, mask, attention


def test_sequence_first_multi_head():
    """nn.MultiheadAttention: [S,B,E], one product for all three, batch and heads in one axis."""
    net = Net()
    x = net.input("x", [S, B, E])
    qkv = net.linear(x, E, 3 * E)
    q, k, v = net.op("Split", qkv, net.ints(E, E, E), outputs=3, axis=2)
    q = net.op("Mul", q, net.f32(D ** -0.5))
    three = net.ints(S, B * H, D)
    q3, k3, v3 = (net.op("Transpose", net.op("Reshape", t, three), perm=[1, 0, 2]) for t in (q, k, v))
    s = net.op("MatMul", q3, net.op("Transpose", k3, perm=[0, 2, 1]))
    y = net.op("MatMul", net.op("Softmax", s, axis=2), v3)
    y = net.op("Reshape", net.op("Transpose", y, perm=[1, 0, 2]), net.ints(S * B, E))
    out = net.op("Gemm", y, net.weight(E, E), net.weight(E))
    check(net.model(out), {"x": data(S, B, E)}, steps=3)


def test_vision_transformer():
    """timm: one product, [B,N,3,H,D] permuted, the three taken by index."""
    net = Net()
    x = net.input("x", [B, S, E])
    t = net.op("Reshape", net.linear(x, E, 3 * E), net.ints(B, S, 3, H, D))
    t = net.op("Transpose", t, perm=[2, 0, 3, 1, 4])
    q, k, v = (net.op("Gather", t, net.const(np.int64(i)), axis=0) for i in range(3))
    s = net.op("MatMul", net.op("Mul", q, net.f32(D ** -0.5)), net.op("Transpose", k, perm=[0, 1, 3, 2]))
    out = net.linear(net.merged(net.op("MatMul", net.op("Softmax", s, axis=-1), v)))
    check(net.model(out), {"x": data(B, S, E)}, steps=3)


def test_decoder_with_rotary_groups_and_cache():
    """Two key heads for four query heads, rotated halves, past keys and values in front, RMSNorm before."""
    groups, past = 2, 6
    net = Net()
    x = net.input("x", [B, S, E])
    pk, pv = (net.input(n, [B, groups, past, D]) for n in ("pk", "pv"))
    cosine, sine = (net.input(n, [1, S, D]) for n in ("cos", "sin"))
    mask = net.input("m", [1, 1, S, S + past])
    r = net.op("ReduceMean", net.op("Pow", x, net.f32(2)), net.ints(-1))
    r = net.op("Reciprocal", net.op("Sqrt", net.op("Add", r, net.f32(1e-6))))
    n = net.op("Mul", net.weight(E), net.op("Mul", x, r))
    kv = groups * D
    q = net.heads(net.op("MatMul", n, net.weight(E, E)))
    k = net.heads(net.op("MatMul", n, net.weight(E, kv)), heads=groups)
    v = net.heads(net.op("MatMul", n, net.weight(E, kv)), heads=groups)
    c, s = (net.op("Unsqueeze", t, net.ints(1)) for t in (cosine, sine))

    def rotary(t):
        low = net.op("Slice", t, net.ints(0), net.ints(D // 2), net.ints(3), net.ints(1))
        high = net.op("Slice", t, net.ints(D // 2), net.ints(2**63 - 1), net.ints(3), net.ints(1))
        turned = net.op("Concat", net.op("Neg", high), low, axis=-1)
        return net.op("Add", net.op("Mul", t, c), net.op("Mul", turned, s))

    q, k = rotary(q), rotary(k)
    k = net.op("Concat", pk, k, axis=2)
    v = net.op("Concat", pv, v, axis=2)

    def repeated(t):
        t = net.op("Expand", net.op("Unsqueeze", t, net.ints(2)), net.ints(B, groups, H // groups, S + past, D))
        return net.op("Reshape", t, net.ints(B, H, S + past, D))

    scores = net.op("MatMul", q, net.op("Transpose", repeated(k), perm=[0, 1, 3, 2]))
    scores = net.op("Add", net.op("Mul", scores, net.f32(D ** -0.5)), mask)
    y = net.op("MatMul", net.op("Softmax", scores, axis=-1), repeated(v))
    out = net.op("MatMul", net.merged(y), net.weight(E, E))
    angle = np.outer(np.arange(S), 1 / 10000 ** (np.arange(D) % (D // 2) / (D // 2)))[None].astype(np.float32)
    causal = np.triu(np.full((S, S + past), np.finfo(np.float32).min, np.float32), past + 1)[None, None]
    inputs = {"x": data(B, S, E), "pk": data(B, groups, past, D, seed=8), "pv": data(B, groups, past, D, seed=9),
              "cos": np.cos(angle), "sin": np.sin(angle), "m": causal}
    layers = check(net.model(out, k, v), inputs)
    kinds = [layer["LayerType"] for layer in layers]
    assert kinds.count("Attention") == 1 and "SoftMax" not in kinds and "PointWise" not in kinds, kinds


def test_inner_values_that_are_results_stay():
    net = Net()
    x = net.input("x", [B, S, E])
    q, k, v = net.heads(net.linear(x)), net.heads(net.linear(x), (0, 2, 3, 1)), net.heads(net.linear(x))
    p = net.op("Softmax", net.op("MatMul", q, k), axis=-1)
    layers = check(net.model(net.op("MatMul", p, v), p), {"x": data(B, S, E)})
    assert "Attention" not in [layer["LayerType"] for layer in layers]


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("rank", [3, 4])
def test_rotary_op(rank, interleaved):
    net = Net()
    x = net.input("x", [B, S, E] if rank == 3 else [B, H, S, D])
    c, s = (net.input(n, [B, S, D // 2]) for n in ("cos", "sin"))
    attrs = {"num_heads": H} if rank == 3 else {}
    out = net.op("RotaryEmbedding", x, c, s, interleaved=interleaved, **attrs)
    outs = [helper.make_tensor_value_info(out, TensorProto.FLOAT, None)]
    graph = helper.make_graph(net.nodes, "rotary", net.inputs, outs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11).SerializeToString()
    xs = data(B, S, E) if rank == 3 else data(B, H, S, D)
    cs, sn = data(B, S, D // 2, seed=1), data(B, S, D // 2, seed=2)
    (got,), layers = run(model, {"x": xs, "cos": cs, "sin": sn}, None, {})
    t = xs.reshape(B, S, H, D).transpose(0, 2, 1, 3) if rank == 3 else xs
    first, second = (t[..., 0::2], t[..., 1::2]) if interleaved else (t[..., : D // 2], t[..., D // 2 :])
    c4, s4 = cs[:, None], sn[:, None]
    re, im = c4 * first - s4 * second, s4 * first + c4 * second
    want = np.stack([re, im], -1).reshape(t.shape) if interleaved else np.concatenate([re, im], -1)
    want = want.transpose(0, 2, 1, 3).reshape(B, S, E) if rank == 3 else want
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
    # Both angles at full size, then all the rest in one step; a result that is a view is copied.
    assert len(layers) == (4 if rank == 3 else 3), layers


@pytest.mark.parametrize("kind", ["instance", "group"])
def test_image_norms(kind):
    net = Net()
    x = net.input("x", [2, 6, 5, 7])
    if kind == "instance":
        d = net.op("Sub", x, net.op("ReduceMean", x, net.ints(2, 3)))
        v = net.op("ReduceMean", net.op("Mul", d, d), net.ints(2, 3))
        n = net.op("Div", d, net.op("Sqrt", net.op("Add", v, net.f32(1e-5))))
    else:
        r = net.op("Reshape", x, net.ints(0, 3, -1))
        n = net.op("InstanceNormalization", r, net.const(np.ones(3, np.float32)), net.const(np.zeros(3, np.float32)))
        n = net.op("Reshape", n, net.ints(2, 6, 5, 7))
    scale, bias = (net.const(data(6, 1, 1, seed=i)) for i in (4, 5))
    check(net.model(net.op("Add", net.op("Mul", n, scale), bias)), {"x": data(2, 6, 5, 7)}, steps=1)
