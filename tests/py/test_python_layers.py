"""A network with each kind of layer, built through the package's methods and run against numpy, on two backends."""
import math

import numpy as np
import pytest
import wootz as trt

SEED = np.random.SeedSequence().entropy % 2**32
BACKENDS = ("cpu", "reference")
S, U, V = np.index_exp, trt.ElementWiseOperation, trt.UnaryOperation


def random(*shape, seed=0):
    return np.random.default_rng([SEED, seed]).standard_normal(shape).astype(np.float32)


class Net:
    """A network under construction; `feeds` are its inputs."""

    def __init__(self):
        self.logger = trt.Logger(trt.Logger.ERROR)
        self.builder = trt.Builder(self.logger)
        self.n, self.feeds = self.builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)), {}

    TYPES = {"float32": trt.float32, "int32": trt.int32, "int64": trt.int64, "bool": trt.bool}

    def input(self, array, name=None):
        name = name or f"in{len(self.feeds)}"
        self.feeds[name] = array
        return self.n.add_input(name, self.TYPES[array.dtype.name], array.shape)

    def constant(self, values, dtype=np.float32):
        array = np.array(values, dtype)
        return self.n.add_constant(array.shape, array).get_output(0)

    def run(self, tensor, backend):
        self.n.mark_output(tensor)
        config = self.builder.create_builder_config()
        config.set_option("backend", backend)
        config.set_option("timing", "0")
        plan = self.builder.build_serialized_network(self.n, config)
        assert plan is not None, "the build failed"
        engine = trt.Runtime(self.logger).deserialize_cuda_engine(plan)
        return trt.infer(engine.create_execution_context(), self.feeds)[tensor.name]


# Functions that add layers to a Net and return the tensor and what it should be.

def windows(x, k, reduce):
    view = np.lib.stride_tricks.sliding_window_view(x, (k, k), axis=(2, 3))
    return reduce(view, axis=(-2, -1))


def convolution(net):
    x, w, b = random(2, 3, 6, 6), random(4, 3, 3, 3, seed=1), random(4, seed=2)
    layer = net.n.add_convolution_nd(net.input(x), 4, (3, 3), w, b)
    layer.bias = b + 1
    view = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
    return layer, np.einsum("nchwij,ocij->nohw", view, w) + (b + 1)[:, None, None]


def deconvolution(net):
    x, w = random(1, 2, 3, 3), random(2, 3, 2, 2, seed=1)
    layer = net.n.add_deconvolution_nd(net.input(x), 3, trt.DimsHW(2, 2), trt.Weights(w))
    layer.stride_nd = (2, 2)
    return layer, np.einsum("nchw,coij->nohiwj", x, w).reshape(1, 3, 6, 6)


def pooling(net):
    x = random(2, 3, 5, 5)
    return net.n.add_pooling_nd(net.input(x), trt.PoolingType.MAX, (2, 2)), windows(x, 2, np.max)


def lrn(net):
    x = random(1, 5, 2, 2)
    squares = np.pad(x * x, ((0, 0), (1, 1), (0, 0), (0, 0)))
    sums = squares[:, :-2] + squares[:, 1:-1] + squares[:, 2:]
    return net.n.add_lrn(net.input(x), 3, 0.3, 0.75, 2.0), x / (2 + 0.3 / 3 * sums) ** 0.75


def scale(net):
    x, shift, factor = random(2, 3, 4, 4), random(3, seed=1), random(3, seed=2)
    layer = net.n.add_scale(net.input(x), trt.ScaleMode.CHANNEL, shift, factor)
    return layer, x * factor[:, None, None] + shift[:, None, None]


def scale_nd(net):
    x = np.abs(random(2, 3, 4)) + 0.5
    power = np.array([1, 2, 3, 0.5], np.float32)
    return net.n.add_scale_nd(net.input(x), trt.ScaleMode.CHANNEL, None, None, power, 2), x ** power


def softmax(net):
    x = random(3, 4)
    layer = net.n.add_softmax(net.input(x))
    layer.axes = 1
    e = np.exp(x - x.max(0))
    return layer, e / e.sum(0)


def ragged_softmax(net):
    x, bounds = random(3, 5), np.array([[2], [5], [1]], np.int32)
    e = np.exp(x) * (np.arange(5) < bounds)
    return net.n.add_ragged_softmax(net.input(x), net.input(bounds)), e / e.sum(1, keepdims=True)


def concatenation(net):
    a, b = random(2, 3), random(2, 4, seed=1)
    layer = net.n.add_concatenation([net.input(a), net.input(b)])
    layer.axis = 1
    return layer, np.concatenate([a, b], 1)


def activation(net):
    x = random(3, 4)
    layer = net.n.add_activation(net.input(x), trt.ActivationType.RELU)
    layer.type, layer.alpha = trt.ActivationType.LEAKY_RELU, 0.3
    return layer, np.where(x > 0, x, 0.3 * x)


def unary(net):
    x = random(3, 4)
    layer = net.n.add_unary(net.input(x), V.EXP)
    layer.op = V.ABS
    return layer, np.abs(x)


def elementwise(net):
    a, b = random(3, 4), random(1, 4, seed=1)
    return net.n.add_elementwise(net.input(a), net.input(b), U.MAX), np.maximum(a, b)


def padding(net):
    x = random(1, 2, 3, 3)
    return net.n.add_padding_nd(net.input(x), (1, 0), (0, 2)), np.pad(x, ((0, 0), (0, 0), (1, 0), (0, 2)))


def shuffle(net):
    x = random(2, 3, 4)
    layer = net.n.add_shuffle(net.input(x))
    layer.first_transpose, layer.reshape_dims, layer.second_transpose = trt.Permutation([2, 0, 1]), (0, -1), (1, 0)
    return layer, x.transpose(2, 0, 1).reshape(4, 6).T


def reduce(net):
    x = random(2, 3, 4)
    return net.n.add_reduce(net.input(x), trt.ReduceOperation.AVG, 1 << 1, True), x.mean(1, keepdims=True)


def topk(net):
    x = random(3, 7)
    layer = net.n.add_topk(net.input(x), trt.TopKOperation.MAX, 2, 1 << 1)
    return layer, np.sort(x, 1)[:, ::-1][:, :2]


def gather(net):
    x = random(4, 5)
    return net.n.add_gather(net.input(x), net.constant([3, 1], np.int32), 1), x[:, [3, 1]]


def gather_nd(net):
    x = random(4, 5)
    return net.n.add_gather_v2(net.input(x), net.constant([[1, 2], [3, 0]], np.int32), trt.GatherMode.ND), x[[1, 3], [2, 0]]


def matrix_multiply(net):
    a, b = random(2, 3, 4), random(2, 5, 4, seed=1)
    layer = net.n.add_matrix_multiply(net.input(a), trt.MatrixOperation.NONE, net.input(b), trt.MatrixOperation.NONE)
    layer.op1 = trt.MatrixOperation.TRANSPOSE
    return layer, a @ b.transpose(0, 2, 1)


def einsum(net):
    a, b = random(2, 3), random(4, 3, seed=1)
    return net.n.add_einsum([net.input(a), net.input(b)], "ik,jk->ij"), a @ b.T


def constant(net):
    layer = net.n.add_constant((2, 3), np.zeros(6, np.float32))
    layer.weights = new = random(6)
    net.n.add_identity(net.input(random(1)))
    return layer, new.reshape(2, 3)


def slicing(net):
    x = random(4, 5)
    layer = net.n.add_slice(net.input(x), (0, 0), (2, 2), (1, 1))
    layer.start, layer.stride = (1, 0), (2, 3)
    return layer, x[1:4:2, 0:4:3]


def shape(net):
    return net.n.add_shape(net.input(random(4, 5))), np.array([4, 5])


def parametric_relu(net):
    x, slopes = random(2, 3), np.array([[0.1, 0.2, 0.3]], np.float32)
    return net.n.add_parametric_relu(net.input(x), net.constant(slopes)), np.where(x > 0, x, slopes * x)


def resize(net):
    x = random(1, 2, 3, 3)
    layer = net.n.add_resize(net.input(x))
    layer.scales, layer.coordinate_transformation = [1, 1, 2, 2], trt.ResizeCoordinateTransformation.ASYMMETRIC
    layer.nearest_rounding = trt.ResizeRoundMode.FLOOR
    return layer, x.repeat(2, 2).repeat(2, 3)


def grid_sample(net):
    x = random(1, 2, 4, 4)
    rows, columns = np.meshgrid(np.arange(4), np.arange(4), indexing="ij")
    grid = np.stack([columns[:, ::-1], rows], -1)[None].astype(np.float32) / 1.5 - 1
    layer = net.n.add_grid_sample(net.input(x), net.input(grid))
    layer.align_corners = True
    return layer, x[..., ::-1]


def select(net):
    pick, a, b = np.array([True, False]), random(3, 2), random(3, 2, seed=1)
    return net.n.add_select(net.constant([pick], np.bool_), net.input(a), net.input(b)), np.where(pick, a, b)


def fill(net):
    layer = net.n.add_fill((5,), trt.FillOperation.LINSPACE, trt.int64)
    layer.alpha, layer.beta = 3, 2
    assert layer.is_alpha_beta_int64() and (layer.alpha, layer.beta) == (3, 2)
    net.n.add_identity(net.input(random(1)))
    return layer, np.arange(3, 13, 2)


def quantization(net):
    x = random(3, 4)
    steps = net.n.add_quantize(net.input(x), net.constant(0.05), trt.int8)
    return net.n.add_dequantize(steps.get_output(0), net.constant(0.05), trt.float32), np.clip(np.round(x / 0.05), -128, 127) * 0.05


def scatter(net):
    x, updates = random(3, 4), random(2, 4, seed=1)
    layer = net.n.add_scatter(net.input(x), net.constant([[2], [0]], np.int32), net.input(updates), trt.ScatterMode.ND)
    want = x.copy()
    want[[2, 0]] = updates
    return layer, want


def one_hot(net):
    layer = net.n.add_one_hot(net.input(np.array([2, 0], np.int32)), net.constant([-1.0, 4.0]), net.constant(3, np.int32), -1)
    return layer, np.where(np.eye(3)[[2, 0]] == 1, 4, -1)


def non_zero(net):
    x = np.array([[0, 1, 0], [2, 0, 3]], np.float32)
    layer = net.n.add_non_zero(net.input(x))
    assert layer.indices_type == trt.int32 and net.n.add_non_zero(net.input(x), trt.int64).indices_type == trt.int64
    return layer, np.stack(np.nonzero(x))


def nms(net):
    boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3]]], np.float32)
    scores = np.array([[[0.9], [0.8], [0.7]]], np.float32)
    layer = net.n.add_nms(net.input(boxes), net.input(scores), net.constant(3, np.int32))
    layer.set_input(3, net.constant(0.5))
    layer.set_input(4, net.constant(0.1))
    assert layer.indices_type == trt.int32 and layer.bounding_box_format == trt.BoundingBoxFormat.CORNER_PAIRS
    return layer, np.array([[0, 0, 0], [0, 0, 2]])


def reverse_sequence(net):
    x = random(4, 2)  # sequence, batch
    layer = net.n.add_reverse_sequence(net.input(x), net.input(np.array([3, 2], np.int32)))
    layer.batch_axis, layer.sequence_axis = 1, 0
    want = x.copy()
    want[:3, 0], want[:2, 1] = x[:3, 0][::-1], x[:2, 1][::-1]
    return layer, want


def normalization(net):
    x, factor, shift = random(2, 3, 4), random(1, 3, 1, seed=1), random(1, 3, 1, seed=2)
    layer = net.n.add_normalization_v2(net.input(x), net.constant(factor), net.constant(shift), 1 << 2)
    layer.epsilon = 0.1
    assert layer.is_v2
    return layer, (x - x.mean(2, keepdims=True)) / np.sqrt(x.var(2, keepdims=True) + 0.1) * factor + shift


def normalization_of_channels(net):
    x, factor, shift = random(2, 3, 4), random(1, 3, 1, seed=1), random(1, 3, 1, seed=2)
    layer = net.n.add_normalization(net.input(x), net.constant(factor), net.constant(shift), 1 << 2)
    return layer, (x - x.mean(2, keepdims=True)) / np.sqrt(x.var(2, keepdims=True) + layer.epsilon) * factor + shift


def cast(net):
    x = random(3, 4) * 10
    return net.n.add_cast(net.input(x), trt.int32), x.astype(np.int32)


def squeeze(net):
    x = random(3, 1, 4)
    return net.n.add_squeeze(net.input(x), net.constant([1], np.int64)), x[:, 0]


def unsqueeze(net):
    x = random(3, 4)
    return net.n.add_unsqueeze(net.input(x), net.constant([1], np.int64)), x[:, None]


def cumulative(net):
    x = random(3, 4)
    layer = net.n.add_cumulative(net.input(x), net.constant(1, np.int32), trt.CumulativeOperation.SUM, False, False)
    layer.reverse = True
    return layer, np.cumsum(x[:, ::-1], 1)[:, ::-1]


def attention(net):
    q, k, v = random(1, 2, 5, 8), random(1, 2, 5, 8, seed=1), random(1, 2, 5, 8, seed=2)
    layer = net.n.add_attention(net.input(q), net.input(k), net.input(v), trt.AttentionNormalizationOp.SOFTMAX, True)
    assert layer.causal and (layer.num_inputs, layer.num_outputs) == (3, 1) and layer.get_input(1).name == "in1"
    layer.decomposable = True
    scores = np.where(np.tri(5, dtype=bool), q @ k.transpose(0, 1, 3, 2), -np.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return layer, e / e.sum(-1, keepdims=True) @ v


def rotary_embedding(net):
    x, angle = random(1, 2, 5, 8), random(1, 5, 4, seed=1)
    layer = net.n.add_rotary_embedding(net.input(x), net.constant(np.cos(angle)), net.constant(np.sin(angle)), False, 0)
    a, b, cos, sin = x[..., :4], x[..., 4:], np.cos(angle), np.sin(angle)
    return layer, np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def kv_cache_update(net):
    cache, new = random(1, 2, 6, 4), random(1, 2, 2, 4, seed=1)
    layer = net.n.add_kv_cache_update(net.input(cache), net.input(new), net.input(np.array([3], np.int32)), trt.KVCacheMode.LINEAR)
    want = cache.copy()
    want[:, :, 3:5] = new
    return layer, want


def loop(net):
    x = random(4, 3)
    loop = net.n.add_loop()
    loop.add_trip_limit(net.constant(4, np.int32), trt.TripLimit.COUNT)
    row = loop.add_iterator(net.input(x))
    state = loop.add_recurrence(net.constant(np.zeros(3)))
    total = net.n.add_elementwise(state.get_output(0), row.get_output(0), U.SUM).get_output(0)
    state.set_input(1, total)
    out = loop.add_loop_output(total, trt.LoopOutput.CONCATENATE)
    out.set_input(1, net.constant(4, np.int32))
    assert out.loop is loop and (out.kind, out.axis) == (trt.LoopOutput.CONCATENATE, 0) and row.axis == 0 and not row.reverse
    return out, np.cumsum(x, 0)


def conditional(net):
    x = random(3)
    choice = net.n.add_if_conditional()
    choice.set_condition(net.input(np.array(False)))
    given = choice.add_input(net.input(x)).get_output(0)
    return choice.add_output(given, net.n.add_elementwise(given, given, U.SUM).get_output(0)), x + x


CASES = [convolution, deconvolution, pooling, lrn, scale, scale_nd, softmax, ragged_softmax, concatenation, activation, unary,
         elementwise, padding, shuffle, reduce, topk, gather, gather_nd, matrix_multiply, einsum, constant, slicing, shape,
         parametric_relu, resize, grid_sample, select, fill, quantization, scatter, one_hot, non_zero, nms, reverse_sequence,
         normalization, normalization_of_channels, cast, squeeze, unsqueeze, cumulative, attention, rotary_embedding, kv_cache_update, loop, conditional]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_layer(case, backend):
    print("seed", SEED)
    net = Net()
    layer, want = case(net)
    got = net.run(layer.get_output(0), backend)
    assert got.shape == np.shape(want)
    if got.dtype.kind in "iub":
        np.testing.assert_array_equal(got, want)
    else:
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 * math.sqrt(max(1, np.abs(want).max())))


def test_layers_are_of_their_kinds():
    """What a network gives by its place is the class of the layer's kind, and the object that was given before; ILayer where its `type` hides it."""
    for case in CASES:
        net = Net()
        layer, _ = case(net)
        if isinstance(layer, trt.ILayer):
            again = next(each for each in net.n if each.name == layer.name)
            if isinstance(layer, (trt.IActivationLayer, trt.IPoolingLayer)):
                assert type(again) is trt.ILayer and isinstance(again.type, trt.LayerType), case.__name__
            else:
                assert type(again) is type(layer) and again is layer, case.__name__


def test_mixtures_of_experts_quantize_by_known_scales():
    net = Net()
    tokens, picks, scores = (net.input(array) for array in (random(1, 6, 8), np.zeros((1, 6, 2), np.int32), random(1, 6, 2)))
    layer = net.n.add_moe(tokens, picks, scores)
    layer.set_gated_weights(*(net.constant(np.ones(shape)) for shape in ((4, 8, 12), (4, 8, 12), (4, 12, 8))), trt.MoEActType.SILU)
    layer.set_quantization_static(net.constant(0.5), trt.DataType.FP8)
    assert layer.quantization_to_type == trt.DataType.FP8
    layer.set_quantization_dynamic_dbl_q(net.constant(0.5), trt.DataType.FP4, (1, 16), trt.DataType.FP8)  # refused, in the log
    assert layer.quantization_to_type == trt.DataType.FP8 and layer.dyn_q_output_scale_type != trt.DataType.FP4
