"""Ifs whose branches differ in extents or rank, as exporters write them: around squeeze, masks of two or three dimensions,
sub-networks for two sample rates. Each must give what ONNX Runtime gives, whichever way the condition goes, with passes on
and off and by the reference.

Why so long: a list of models, each a few lines."""
import json
import os
import random

import numpy as np
import pytest

import wootz

import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
SEED = random.randrange(1 << 30)
WAYS = [{"backend": "cpu"}, {"backend": "cpu", "disable_passes": "all"}, {"backend": "reference"}]


@pytest.fixture(autouse=True)
def told_seed():
    print("seed", SEED)


def floats(*shape):
    return np.random.default_rng(SEED + sum(shape)).standard_normal(shape).astype(np.float32)


class Net:
    """Nodes of one graph; subgraphs are Nets of their own that read the names outside of them."""
    count = 0

    def __init__(self):
        self.nodes, self.constants = [], []

    def const(self, array):
        Net.count += 1
        self.constants.append(numpy_helper.from_array(np.asarray(array), f"k{Net.count}"))
        return f"k{Net.count}"

    def ints(self, *values):
        return self.const(np.array(values, np.int64))

    def weight(self, *shape):
        return self.const((np.random.default_rng(Net.count).standard_normal(shape) * 0.3).astype(np.float32))

    def op(self, kind, *inputs, outputs=1, **attrs):
        names = []
        for _ in range(outputs):
            Net.count += 1
            names.append(f"v{Net.count}")
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=f"{kind}_{names[0]}", **attrs))
        return names[0] if outputs == 1 else names

    def extent(self, x, axis):
        return self.op("Gather", self.op("Shape", x), self.const(np.int64(axis)))

    def is_extent(self, x, axis, value):
        return self.op("Equal", self.extent(x, axis), self.const(np.int64(value)))

    def graph(self, *outputs):
        return helper.make_graph(self.nodes, "branch", [], [helper.make_empty_tensor_value_info(o) for o in outputs],
                                 self.constants)

    def choose(self, condition, then, other, outputs=1):
        """`then` and `other`: functions from a Net to the names of what the branch gives."""
        graphs = []
        for branch in (then, other):
            inner = Net()
            given = branch(inner)
            graphs.append(inner.graph(*([given] if isinstance(given, str) else given)))
        return self.op("If", condition, outputs=outputs, then_branch=graphs[0], else_branch=graphs[1])

    def squeezed(self, x, axis):
        """What torch exports for x.squeeze(axis) when it does not know the extent."""
        return self.choose(self.is_extent(x, axis, 1), lambda n: n.op("Squeeze", x, n.ints(axis)),
                           lambda n: n.op("Identity", x))

    def model(self, inputs, outputs):
        ins = [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in inputs]
        outs = [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs]
        made = helper.make_model(helper.make_graph(self.nodes, "net", ins, outs, self.constants),
                                 opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        return made.SerializeToString()


class Log(wootz.ILogger):
    def __init__(self):
        wootz.ILogger.__init__(self)
        self.lines = []

    def log(self, severity, text):
        if severity <= wootz.ILogger.ERROR:
            self.lines.append(text)


def parse(model, log):
    builder = wootz.Builder(log)
    network = builder.create_network(0)
    parser = wootz.OnnxParser(network, log)
    good = parser.parse(model)
    return builder, network, parser, good


def build(model, profiles, options):
    """The plan, or None and the errors."""
    log = Log()
    builder, network, parser, good = parse(model, log)
    assert good, [str(parser.get_error(i)) for i in range(parser.num_errors)]
    config = builder.create_builder_config()
    for key, value in {"timing": "0", "verify_passes": "1", **options}.items():
        config.set_option(key, value)
    for ranges in profiles:
        profile = builder.create_optimization_profile()
        for name, given in ranges.items():
            if isinstance(given, dict):
                profile.set_shape_input(name, given["min"], given["opt"], given["max"])
            else:
                profile.set_shape(name, *given)
        config.add_optimization_profile(profile)
    return builder.build_serialized_network(network, config), log.lines


def context_of(plan):
    log = Log()
    engine = wootz.Runtime(log).deserialize_cuda_engine(bytes(plan))
    return engine, engine.create_execution_context(), log


def layers_of(engine):
    inspector = engine.create_engine_inspector()
    return json.loads(inspector.get_engine_information(wootz.LayerInformationFormat.JSON))["Layers"]


def close(have, want):
    assert len(have) == len(want)
    for a, b in zip(have, want):
        assert a.shape == b.shape
        if b.dtype == np.float32:
            scale = max(1e-5, float(np.max(np.abs(b), initial=0)))
            assert not np.isnan(a).any() and np.max(np.abs(a - b), initial=0) <= 5e-5 * scale
        else:
            assert np.array_equal(a, b)


def agree(model, feeds, profiles=(), ways=WAYS):
    """One plan, one context, all feeds one after the other: (profile, {name: array})."""
    session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    wants = [session.run(None, feed) for _, feed in feeds]
    plans = []
    for options in ways:
        plan, errors = build(model, profiles, options)
        assert plan is not None, errors
        engine, context, log = context_of(plan)
        for (profile, feed), want in list(zip(feeds, wants)) * 2:
            if profile != context.active_optimization_profile:
                assert context.set_optimization_profile_async(profile, 0)
            have = wootz.infer(context, feed)
            close([np.array(v) for v in have.values()], want)
        plans.append(engine)
    return plans


def at(shape, axis, low, opt, high):
    return tuple(tuple(v if a == axis else d for a, d in enumerate(shape)) for v in (low, opt, high))


# Conditions over extents

def squeeze_model():
    net = Net()
    x = net.squeezed("x", 2)                    # [n, 4] or [n, 4, t]
    y = net.op("Mul", x, net.const(np.float32(2)))
    return net.model([("x", F, ["n", 4, "t"])], [(net.op("ReduceSum", y, keepdims=0), F)])


def test_squeeze_of_an_extent_both_ways():
    agree(squeeze_model(), [(0, {"x": floats(3, 4, 1)}), (0, {"x": floats(2, 4, 5)}), (0, {"x": floats(3, 4, 1)})],
          [{"x": ((1, 4, 1), (2, 4, 4), (4, 4, 8))}])


def test_profiles_decide_the_condition():
    model = squeeze_model()
    for low, high in ((1, 1), (2, 8)):
        engines = agree(model, [(0, {"x": floats(3, 4, high)})], [{"x": ((1, 4, low), (3, 4, low), (4, 4, high))}])
        assert "op_any_reference" not in json.dumps(layers_of(engines[0]))


def test_profiles_that_decide_differently_share_a_plan():
    profiles = [{"x": ((1, 4, 1), (3, 4, 1), (4, 4, 1))}, {"x": ((1, 4, 2), (3, 4, 4), (4, 4, 8))}]
    agree(squeeze_model(), [(0, {"x": floats(3, 4, 1)}), (1, {"x": floats(2, 4, 5)}), (0, {"x": floats(1, 4, 1)})],
          profiles)


def test_extents_that_follow_from_extents():
    """The branches differ in extents, the condition is over extents: all shapes are known before anything runs."""
    net = Net()
    y = net.choose(net.op("Greater", net.extent("x", 1), net.const(np.int64(4))),
                   lambda n: n.op("Slice", "x", n.ints(0), n.ints(4), n.ints(1)),
                   lambda n: n.op("Concat", "x", "x", axis=1))
    z = net.op("Relu", y)
    model = net.model([("x", F, [2, "t"])], [(z, F), (net.op("Shape", z), I)])
    engines = agree(model, [(0, {"x": floats(2, t)}) for t in (3, 5, 4, 9)], [{"x": ((2, 1), (2, 4), (2, 9))}])
    context = engines[0].create_execution_context()
    for t, want in ((3, 6), (9, 4)):
        context.set_input_shape("x", (2, t))
        assert tuple(context.get_tensor_shape(z)) == (2, want)  # before it runs


def test_static_shapes_take_one_branch():
    net = Net()
    y = net.op("Neg", net.squeezed("x", 1))
    agree(net.model([("x", F, [3, 1, 2])], [(y, F)]), [(0, {"x": floats(3, 1, 2)})])


def test_network_inputs_fixed_after_parsing():
    """The other branch is impossible with these extents."""
    log = Log()
    model = squeeze_model()
    for t in (1, 5):
        builder, network, _, good = parse(model, log)
        assert good
        network.get_input(0).shape = (3, 4, t)
        config = builder.create_builder_config()
        config.set_option("timing", "0")
        plan = builder.build_serialized_network(network, config)
        assert plan is not None, log.lines
        _, context, _ = context_of(plan)
        x = floats(3, 4, t)
        session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
        close([np.array(v) for v in wootz.infer(context, {"x": x}).values()], session.run(None, {"x": x}))


# Branches that their readers cannot read

def lstm_model():
    """A voice model's tail: frames squeezed when there is one; an LSTM step, which reads only the squeezed form."""
    net = Net()
    x = net.op("Relu", net.op("Conv", "x", net.weight(8, 1, 16), strides=[16]))      # [n, 8, t]
    x = net.squeezed(x, 2)
    x = net.op("Unsqueeze", x, net.ints(0))                                           # [1, n, 8] or [1, n, 8, t]
    y, h, _ = net.op("LSTM", x, net.weight(1, 16, 8), net.weight(1, 16, 4), net.weight(1, 32), "", "h", "c",
                     outputs=3, hidden_size=4)
    return net.model([("x", F, ["n", 1, "s"]), ("h", F, [1, "n", 4]), ("c", F, [1, "n", 4])],
                     [(net.op("Squeeze", y, net.ints(1)), F), (h, F)])


def state(n):
    return {"h": floats(1, n, 4), "c": floats(1, n, 4) * 0.5}


def lstm_profile(low, high):
    states = ((1, 1, 4), (1, 2, 4), (1, 4, 4))
    return [{"x": ((1, 1, low), (2, 1, low), (4, 1, high)), "h": states, "c": states}]


def test_one_branch_is_what_the_readers_need():
    agree(lstm_model(), [(0, {"x": floats(2, 1, 16), **state(2)}), (0, {"x": floats(3, 1, 31), **state(3)})],
          lstm_profile(16, 31))


def test_the_other_branch_ends_the_run_with_a_message():
    model = lstm_model()
    for options in WAYS:
        plan, errors = build(model, lstm_profile(16, 64), options)
        assert plan is not None, errors
        _, context, log = context_of(plan)
        wootz.infer(context, {"x": floats(2, 1, 20), **state(2)})
        with pytest.raises((ValueError, RuntimeError)):
            wootz.infer(context, {"x": floats(2, 1, 40), **state(2)})
        text = "\n".join(log.lines)
        assert "If_" in text and "LSTM_" in text and "else_branch" in text, text
        wootz.infer(context, {"x": floats(2, 1, 20), **state(2)})  # and the context goes on


def test_profiles_that_only_take_the_other_branch_are_refused():
    plan, errors = build(lstm_model(), lstm_profile(32, 64), {"backend": "cpu"})
    assert plan is None
    assert any("LSTM_" in e and "If_" in e for e in errors), errors


# Conditions that only running tells

def test_ranks_by_a_flag_go_on_inside_of_the_branches():
    net = Net()
    y = net.choose("flag", lambda n: n.op("Squeeze", "x", n.ints(1)), lambda n: n.op("Identity", "x"))
    y = net.op("Mul", y, net.const(np.float32(3)))
    y = net.op("Reshape", y, net.ints(-1, 2))   # of one rank again
    z = net.op("Add", y, net.weight(2))
    model = net.model([("flag", B, []), ("x", F, ["n", 1, 2])], [(z, F)])
    feeds = [(0, {"flag": np.array(f), "x": floats(n, 1, 2)}) for f, n in ((True, 3), (False, 4), (True, 1))]
    agree(model, feeds, [{"x": ((1, 1, 2), (3, 1, 2), (4, 1, 2))}])


def test_extents_by_a_flag_are_found_by_running():
    net = Net()
    y = net.choose("flag", lambda n: n.op("Slice", "x", n.ints(0), n.ints(2), n.ints(0)),
                   lambda n: n.op("Concat", "x", "x", axis=0))
    z = net.op("MatMul", net.op("Tanh", y), net.weight(6, 5))
    total = net.op("ReduceSum", z, net.ints(0), keepdims=1)
    model = net.model([("flag", B, []), ("x", F, ["n", 6])], [(net.op("Sub", z, total), F), (net.op("Shape", z), I)])
    feeds = [(0, {"flag": np.array(f), "x": floats(n, 6)}) for f, n in ((True, 3), (False, 4), (True, 5), (False, 2))]
    agree(model, feeds, [{"x": ((2, 6), (3, 6), (5, 6))}])


def test_a_branch_that_fails_where_it_is_not_taken_is_not_computed():
    """The condition guards a sum of extents that need not be equal."""
    net = Net()
    same = net.op("Equal", net.extent("x", 0), net.extent("y", 0))
    z = net.choose(same, lambda n: n.op("Add", "x", "y"), lambda n: n.op("Neg", "x"))
    model = net.model([("x", F, ["n", 3]), ("y", F, ["m", 3])], [(z, F)])
    feeds = [(0, {"x": floats(n, 3), "y": floats(m, 3)}) for n, m in ((4, 4), (4, 2), (2, 4), (3, 3))]
    agree(model, feeds, [{"x": ((2, 3), (4, 3), (5, 3)), "y": ((2, 3), (4, 3), (5, 3))}])


def test_values_of_a_shape_input_decide():
    """`rate` has values in the profile: the plan has one branch, and holds a call to it."""
    net = Net()
    y = net.choose(net.op("Equal", "rate", net.const(np.int64(16))),
                   lambda n: n.op("Slice", "x", n.ints(0), n.ints(2), n.ints(0)), lambda n: n.op("Neg", "x"))
    model = net.model([("x", F, [5, 3]), ("rate", I, [])], [(y, F)])
    feed = {"x": floats(5, 3), "rate": np.array(16)}
    fixed = [{"rate": {"min": [16], "opt": [16], "max": [16]}}]
    agree(model, [(0, feed)], fixed)
    plan, errors = build(model, fixed, {"backend": "cpu"})
    assert plan is not None, errors
    _, context, log = context_of(plan)
    with pytest.raises((ValueError, RuntimeError)):
        wootz.infer(context, {**feed, "rate": np.array(8)})
    assert any("rate" in line for line in log.lines), log.lines
    wide = [{"rate": {"min": [8], "opt": [16], "max": [16]}}]
    agree(model, [(0, feed), (0, {**feed, "rate": np.array(8)})], wide)


@pytest.mark.parametrize("late", [False, True])
def test_joined_extents_that_are_one_are_broadcast(late):
    net = Net()
    condition = "flag" if late else net.op("Greater", net.extent("x", 1), net.const(np.int64(4)))
    y = net.choose(condition, lambda n: n.op("ReduceMean", "x", axes=[0], keepdims=1), lambda n: n.op("Neg", "x"))
    z = net.op("Add", net.op("Add", y, "x"), net.op("Mul", "x", y))
    inputs = [("x", F, ["n", "t"])] + ([("flag", B, [])] if late else [])
    feeds = [(0, {"x": floats(n, t), **({"flag": np.array(f)} if late else {})})
             for n, t, f in ((3, 3, True), (3, 6, False), (1, 5, True), (4, 4, False))]
    agree(net.model(inputs, [(z, F)]), feeds, [{"x": ((1, 1), (3, 4), (4, 9))}])


# Structures of real models

def encoder(n, x, width, stride):
    """A branch of a voice-activity model: windows, magnitudes, convolutions, and the idiom of squeeze inside."""
    x = n.op("Unsqueeze", x, n.ints(1))
    s = n.op("Conv", x, n.weight(10, 1, width), strides=[width // 2])
    real, imaginary = n.op("Split", s, axis=1, outputs=2)
    m = n.op("Sqrt", n.op("Add", n.op("Mul", real, real), n.op("Mul", imaginary, imaginary)))
    m = n.op("Relu", n.op("Conv", m, n.weight(6, 5, 3), pads=[1, 1], strides=[stride]))
    m = n.op("Relu", n.op("Conv", m, n.weight(8, 6, 3), pads=[1, 1], strides=[2]))
    one = n.is_extent(m, 2, 1)
    return n.choose(one, lambda k: k.op("Squeeze", m, k.ints(2)), lambda k: k.op("Identity", m))


def decoder(n, x):
    x = n.op("Unsqueeze", x, n.ints(0))
    _, h, c = n.op("LSTM", x, n.weight(1, 16, 8), n.weight(1, 16, 4), n.weight(1, 32), "", "h", "c", outputs=3,
                   hidden_size=4)
    y = n.op("Sigmoid", n.op("MatMul", n.op("Squeeze", h, n.ints(0)), n.weight(4, 1)))
    return [y, h, c]


def voice_model():
    """Two networks by the sample rate, an If around each squeeze, the state handed on."""
    net = Net()
    outs = net.choose(net.op("Equal", "sr", net.const(np.int64(16000))),
                      lambda n: decoder(n, encoder(n, "x", 32, 2)), lambda n: decoder(n, encoder(n, "x", 16, 1)),
                      outputs=3)
    return net.model([("x", F, ["n", "s"]), ("sr", I, []), ("h", F, [1, "n", 4]), ("c", F, [1, "n", 4])],
                     [(o, F) for o in outs])


def test_voice_activity_model():
    feeds = [(0, {"x": floats(2, s), "sr": np.array(rate), **state(2)}) for rate, s in ((16000, 48), (8000, 24))]
    states = ((1, 1, 4), (1, 2, 4), (1, 4, 4))
    agree(voice_model(), feeds, [{"x": ((1, 24), (2, 48), (4, 48)), "h": states, "c": states}])


def test_shapes_at_which_one_network_is_impossible():
    """Several frames at 8 kHz, which its decoder cannot read: a call with that rate is told so."""
    states = ((1, 1, 4), (1, 2, 4), (1, 4, 4))
    profiles = [{"x": ((1, 48), (2, 48), (4, 48)), "h": states, "c": states}]
    feed = {"x": floats(2, 48), "sr": np.array(16000), **state(2)}
    agree(voice_model(), [(0, feed)], profiles)
    plan, errors = build(voice_model(), profiles, {"backend": "cpu"})
    assert plan is not None, errors
    _, context, log = context_of(plan)
    with pytest.raises((ValueError, RuntimeError)):
        wootz.infer(context, {**feed, "sr": np.array(8000)})
    assert any("LSTM_" in line for line in log.lines), log.lines


def test_chunks_decide_outside_of_the_networks():
    """The idiom's result leaves the branch: of either rank from one network, of one rank from the other."""
    net = Net()
    x = net.choose(net.op("Equal", "sr", net.const(np.int64(16000))), lambda n: encoder(n, "x", 32, 2),
                   lambda n: n.op("ReduceMean", n.op("Reshape", "x", n.ints(0, -1, 8)), axes=[1], keepdims=0))
    model = net.model([("x", F, ["n", "s"]), ("sr", I, [])], [(o, F) for o in [net.op("ReduceMax", x, keepdims=0)]])
    feeds = [(0, {"x": floats(2, s), "sr": np.array(rate)}) for rate, s in ((16000, 48), (8000, 32), (16000, 128))]
    agree(model, feeds, [{"x": ((1, 32), (2, 48), (4, 128))}])


def expanded_mask(net, mask, ids):
    """[n, s] or [n, s, s], by the rank and by what a flag says of it, to [n, 1, s, s]."""
    def outer(n):
        wide = n.op("Unsqueeze", n.op("Unsqueeze", mask, n.ints(1)), n.ints(2))       # [n, 1, 1, s]
        tall = n.op("Unsqueeze", n.op("Squeeze", wide, n.ints(2)), n.ints(3))
        return n.op("Mul", wide, tall)
    rank = net.op("Size", net.op("Shape", mask))
    return net.choose(net.op("LessOrEqual", rank, net.const(np.int64(2))), outer,
                      lambda n: n.choose(n.op("Equal", rank, n.const(np.int64(3))),
                                         lambda k: k.op("Unsqueeze", mask, k.ints(1)),
                                         lambda k: k.op("Identity", mask)))


def disentangled_model(dims, late_rank):
    """Disentangled attention: relative positions in logarithmic buckets, their rank brought to 4 by Ifs, a mask of 2 or 3
    dimensions. `late_rank`: the rank of the positions is decided by what only running tells."""
    heads, size = 2, 8
    net = Net()
    mask = net.op("Cast", expanded_mask(net, "mask", "x"), to=F)
    s = net.extent("x", 1)
    zero, one = net.const(np.int64(0)), net.const(np.int64(1))
    span = net.op("Range", zero, s, one)
    delta = net.op("Sub", net.op("Unsqueeze", span, net.ints(1)), net.op("Unsqueeze", span, net.ints(0)))
    far = net.op("Cast", net.op("Abs", delta), to=F)
    logs = net.op("Ceil", net.op("Log", net.op("Add", far, net.const(np.float32(1)))))
    bucket = net.op("Where", net.op("LessOrEqual", far, net.const(np.float32(2))), net.op("Cast", delta, to=F),
                    net.op("Mul", net.op("Sign", net.op("Cast", delta, to=F)), net.op("Add", logs, net.const(np.float32(2)))))
    position = net.op("Unsqueeze", net.op("Cast", bucket, to=I), net.ints(0))         # [1, s, s]
    rank = net.op("Size", net.op("Shape", position))
    three = "flat" if late_rank else net.op("Equal", rank, net.const(np.int64(3)))
    position = net.choose(three, lambda n: n.op("Unsqueeze", position, n.ints(1)),
                          lambda n: n.op("Identity", position))                        # [1, 1, s, s] or [1, s, s]
    x = net.op("Reshape", net.op("MatMul", "x", net.weight(size, size)), net.ints(0, 0, heads, size // heads))
    q = net.op("Transpose", x, perm=[0, 2, 1, 3])
    k = net.op("Transpose", x, perm=[0, 2, 3, 1])
    scores = net.op("MatMul", q, k)
    table = net.op("MatMul", q, net.weight(size // heads, 16))                         # [n, heads, s, 16]
    at_ = net.op("Clip", net.op("Add", position, net.const(np.int64(8))), zero, net.const(np.int64(15)))
    shape = net.op("Shape", scores)
    at_ = net.op("Expand", at_, shape)                                                  # of rank 4 either way
    scores = net.op("Add", scores, net.op("GatherElements", table, at_, axis=3))
    # Not the usual 1e4: where a whole row is masked, adding it would round the scores to multiples of 0.001.
    low = net.op("Mul", net.op("Sub", mask, net.const(np.float32(1))), net.const(np.float32(64)))
    p = net.op("Softmax", net.op("Add", scores, low), axis=-1)
    y = net.op("MatMul", p, net.op("Transpose", x, perm=[0, 2, 1, 3]))
    y = net.op("Reshape", net.op("Transpose", y, perm=[0, 2, 1, 3]), net.ints(0, 0, size))
    inputs = [("x", F, ["n", "s", size]), ("mask", I, dims)] + ([("flat", B, [])] if late_rank else [])
    return net.model(inputs, [(y, F)])


@pytest.mark.parametrize("late_rank", [False, True])
@pytest.mark.parametrize("dims", [["n", "s"], ["n", "s", "s"]])
def test_disentangled_attention(dims, late_rank):
    model = disentangled_model(dims, late_rank)
    feeds = []
    for n, s, flat in ((2, 5, True), (1, 7, False), (2, 5, False)):
        shape = (n, s, s)[:len(dims)]
        mask = (np.random.default_rng(SEED).random(shape) > 0.3).astype(np.int64)
        feeds.append((0, {"x": floats(n, s, 8), "mask": mask, **({"flat": np.array(flat)} if late_rank else {})}))
    mask = tuple((n, s, s)[:len(dims)] for n, s in ((1, 2), (2, 5), (3, 9)))
    agree(model, feeds, [{"x": ((1, 2, 8), (2, 5, 8), (3, 9, 8)), "mask": mask}])


# Forms

def test_nested_branches_of_three_ranks():
    net = Net()
    y = net.choose("a", lambda n: n.op("Identity", "x"),
                   lambda n: n.choose("b", lambda k: k.op("Unsqueeze", "x", k.ints(0)),
                                      lambda k: k.op("Reshape", "x", k.ints(-1))))
    y = net.op("Exp", y)
    model = net.model([("a", B, []), ("b", B, []), ("x", F, ["n", 3])],
                      [(net.op("ReduceMax", y, keepdims=0), F), (net.op("Reshape", y, net.ints(1, -1)), F)])
    feeds = [(0, {"a": np.array(a), "b": np.array(b), "x": floats(n, 3)})
             for a, b, n in ((True, True, 2), (False, True, 4), (False, False, 3), (True, False, 1))]
    agree(model, feeds, [{"x": ((1, 3), (2, 3), (4, 3))}])


def test_two_that_meet():
    """A sum of what two Ifs give, each of either rank."""
    net = Net()
    a = net.choose("a", lambda n: n.op("Unsqueeze", "x", n.ints(0)), lambda n: n.op("Identity", "x"))
    b = net.choose("b", lambda n: n.op("Unsqueeze", "y", n.ints(0)), lambda n: n.op("Identity", "y"))
    z = net.op("ReduceSum", net.op("Add", a, b), keepdims=0)
    w = net.op("Neg", "x")
    model = net.model([("a", B, []), ("b", B, []), ("x", F, ["n", 3]), ("y", F, ["n", 3])],
                      [(z, F), (net.op("Mul", w, z), F)])
    feeds = [(0, {"a": np.array(p), "b": np.array(q), "x": floats(2, 3), "y": floats(2, 3)})
             for p in (True, False) for q in (True, False)]
    agree(model, feeds, [{"x": ((1, 3), (2, 3), (4, 3)), "y": ((1, 3), (2, 3), (4, 3))}])


def test_what_is_read_between_comes_along():
    """A reader inside needs what a reader outside of the branches makes of another result."""
    net = Net()
    a, b = net.choose("a", lambda n: [n.op("Unsqueeze", "x", n.ints(0)), n.op("Neg", "x")],
                      lambda n: [n.op("Abs", "x"), n.op("Identity", "x")], outputs=2)
    c = net.op("Exp", b)
    z = net.op("ReduceSum", net.op("Add", a, c), keepdims=0)
    model = net.model([("a", B, [1]), ("x", F, ["n", 3])], [(z, F), (c, F)])
    feeds = [(0, {"a": np.array([p]), "x": floats(n, 3)}) for p, n in ((True, 2), (False, 3))]
    agree(model, feeds, [{"x": ((1, 3), (2, 3), (4, 3))}])


def test_empty_branches_give_what_is_outside():
    """Which ONNX Runtime does not take: held against numpy."""
    net = Net()
    w = np.arange(6, dtype=np.float32).reshape(3, 2) / 7
    y = net.choose("a", lambda n, w=net.const(w): w, lambda n: "x")
    model = net.model([("a", B, []), ("x", F, ["n", 2])], [(net.op("Tanh", y), F)])
    for options in WAYS:
        plan, errors = build(model, [{"x": ((1, 2), (2, 2), (4, 2))}], options)
        assert plan is not None, errors
        _, context, _ = context_of(plan)
        for taken, n in ((True, 2), (False, 2), (True, 2), (True, 4), (False, 4)):  # also of one shape, less and more
            x = floats(n, 2)
            have = wootz.infer(context, {"a": np.array(taken), "x": x})
            close([np.array(v) for v in have.values()], [np.tanh(w if taken else x)])


def test_constant_conditions():
    for taken in (True, False):
        net = Net()
        condition = net.const(np.array(taken))
        y = net.choose(condition, lambda n: n.squeezed("x", 1), lambda n: n.op("Reshape", "x", n.ints(-1)))
        model = net.model([("x", F, [3, "t"])], [(net.op("ReduceSum", y, keepdims=0), F)])
        agree(model, [(0, {"x": floats(3, t)}) for t in (1, 4)], [{"x": ((3, 1), (3, 2), (3, 5))}])


# What is refused

def refusal(model):
    _, _, parser, good = parse(model, Log())
    assert not good
    return "\n".join(str(parser.get_error(i)) for i in range(parser.num_errors))


def test_a_result_of_either_rank_is_refused_with_both():
    net = Net()
    y = net.choose("a", lambda n: n.op("Unsqueeze", "x", n.ints(0)), lambda n: n.op("Neg", "x"))
    text = refusal(net.model([("a", B, []), ("x", F, ["n", 3])], [(y, F)]))
    for word in ("If_", "Unsqueeze_", "Neg_", "[1,s0,3]", "[s0,3]", y):
        assert word in text, text


def test_branches_of_two_types_are_refused_with_both():
    net = Net()
    y = net.choose("a", lambda n: n.op("Cast", "x", to=I), lambda n: n.op("Neg", "x"))
    text = refusal(net.model([("a", B, []), ("x", F, ["n", 3])], [(y, F)]))
    for word in ("Cast_", "Neg_", "i64[s0,3]", "f32[s0,3]"):
        assert word in text, text


def test_branches_whose_readers_fail_in_both_are_refused():
    net = Net()
    y = net.choose("a", lambda n: n.op("Unsqueeze", "x", n.ints(0)), lambda n: n.op("Neg", "x"))
    text = refusal(net.model([("a", B, []), ("x", F, ["n", 3])], [(net.op("MatMul", y, net.weight(7, 2)), F)]))
    assert "MatMul_" in text and "If_" in text, text


def test_sequences_are_refused():
    net = Net()
    y = net.choose("a", lambda n: n.op("SequenceConstruct", "x"), lambda n: n.op("SequenceConstruct", "x", "x"))
    text = refusal(net.model([("a", B, []), ("x", F, ["n", 3])], [(net.op("SequenceLength", y), I)]))
    assert "SequenceConstruct" in text, text


def test_results_of_either_rank_from_a_loop_are_refused():
    net = Net()
    body = Net()
    y = body.choose("go_on", lambda n: n.op("Unsqueeze", "x", n.ints(0)), lambda n: n.op("Neg", "x"))
    inputs = [helper.make_tensor_value_info("i", I, []), helper.make_tensor_value_info("go_on", B, [])]
    graph = helper.make_graph(body.nodes, "body", inputs,
                              [helper.make_tensor_value_info("go_on", B, []), helper.make_empty_tensor_value_info(y)],
                              body.constants)
    z = net.op("Loop", net.const(np.int64(3)), "", body=graph)
    text = refusal(net.model([("x", F, ["n", 3])], [(z, F)]))
    assert "rank" in text and "If_" in text, text


def test_many_are_bounded():
    net, x = Net(), "x"
    for _ in range(12):
        y = net.choose("a", lambda n: n.op("Unsqueeze", x, n.ints(0)), lambda n: n.op("Identity", x))
        x = net.op("Neg", y)
    parse(net.model([("a", B, []), ("x", F, ["n", 3])], [(net.op("ReduceSum", x, keepdims=0), F)]), Log())


if os.environ.get("WOOTZ_SEED"):
    SEED = int(os.environ["WOOTZ_SEED"])
