"""wootz.torch: converters operation by operation, and the ways in, on the processor and where there is a GPU on that as well. Skipped where torch
is not installed, as in this repository's own environment: it is larger than all the rest."""
import logging
import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812

import wootz.torch  # noqa: E402
from wootz.torch._options import Options  # noqa: E402
from wootz.torch._partition import compiled  # noqa: E402
from wootz.torch._trace import attributes, from_dynamo  # noqa: E402
from wootz.torch.converters import TABLE  # noqa: E402

OPTIONS = {"cache": False, "build": {"timing": "0"}}
SEED = int(os.environ.get("WOOTZ_SEED", int.from_bytes(os.urandom(4), "little")))
TOLERANCES = {torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


PLACES = ["cpu"] + ["cuda"] * torch.cuda.is_available()


@pytest.fixture(autouse=True, params=PLACES)
def place(request):
    """The device of the tensors and modules that a test makes. A GPU computes FP32 without TF32, which torch allows in convolutions by itself."""
    print(f"WOOTZ_SEED={SEED}")
    torch.manual_seed(SEED)
    torch._dynamo.reset()
    wootz.torch.statistics(reset=True)
    before, torch.backends.cudnn.allow_tf32 = torch.backends.cudnn.allow_tf32, False
    torch.set_default_device(request.param)
    yield torch.device(request.param)
    torch.set_default_device(None)
    torch.backends.cudnn.allow_tf32 = before


def r(*shape):
    return torch.randn(*shape)


def p(*shape):
    return torch.rand(*shape) + 0.5


def ids(high, *shape):
    return torch.randint(0, high, shape)


def agree(got, want):
    assert type(got) is type(want)
    if not isinstance(want, torch.Tensor):
        assert got == want
        return
    assert got.shape == want.shape and got.dtype == want.dtype, (got.shape, want.shape, got.dtype, want.dtype)
    if want.is_floating_point():
        assert torch.equal(got.isnan(), want.isnan())
        spread = max(1.0, want.double().nan_to_num(0, 0, 0).abs().max().item()) if want.numel() else 1
        torch.testing.assert_close(got.double(), want.double(), rtol=0, atol=TOLERANCES[want.dtype] * spread, equal_nan=True)
    else:
        assert torch.equal(got, want)


CASES = {
    "unary": (lambda x: [f(x) for f in (torch.exp, torch.sin, torch.cos, torch.tanh, torch.erf, torch.sigmoid, torch.neg, torch.abs, torch.sign,
                                       torch.floor, torch.ceil, torch.round, torch.trunc, torch.expm1, torch.sinh, torch.atan, torch.relu)],
              [r(3, 5)]),
    "unary of positive": (lambda x: [f(x) for f in (torch.log, torch.sqrt, torch.rsqrt, torch.reciprocal, torch.log2, torch.log10, torch.log1p,
                                                    torch.exp2)], [p(3, 5)]),
    "log1p near 0": (lambda x: torch.log1p(x) * 1e6, [r(64) * 1e-6]),
    "activations": (lambda x: [F.gelu(x), F.gelu(x, approximate="tanh"), F.silu(x), F.hardswish(x), F.hardsigmoid(x), F.elu(x), F.selu(x),
                               F.leaky_relu(x, 0.2), F.softplus(x), F.mish(x), F.relu6(x), F.hardtanh(x, -0.5, 0.7), F.softsign(x),
                               F.logsigmoid(x), F.glu(x, -1), F.celu(x), F.threshold(x, 0.1, 2.0)], [r(3, 8)]),
    "prelu": (lambda x, s: F.prelu(x, s), [r(2, 3, 4), r(3)]),
    "arithmetic": (lambda a, b: [a + b, a - b, a * b, a / b, a.pow(2), torch.add(a, b, alpha=2), 1 - a, a + 2, 3 / b, a.maximum(b),
                                 torch.remainder(a, b), torch.fmod(a, b), torch.div(a, b, rounding_mode="floor"), torch.atan2(a, b)],
                   [r(3, 1, 4), p(2, 4)]),
    "integers": (lambda a, b: [a + b, a * b, a // b, a % b, a - 1, a.float() / b, a / b, a == b, a < b, -a, a.abs(), a.clamp(1, 3)],
                 [ids(9, 3, 4) - 4, ids(5, 3, 4) + 1]),
    "types meet": (lambda a, b, c: [a + b, a * 2.5, b * c, c + 1, c + c, a > b], [ids(9, 3), r(3), r(3) > 0]),
    "comparisons": (lambda a, b: [a == b, a != b, a < b, a <= b, a > b, a >= b, a > 0.3, a.isnan(), a.isinf()],
                    [torch.tensor([1.0, float("nan"), 2, float("inf")]), torch.tensor([1.0, 0, 3, float("nan")])]),
    "logic": (lambda a, b: [a & b, a | b, a ^ b, ~a, a.logical_and(b), a.logical_not()], [r(5) > 0, r(5) > 0]),
    "where": (lambda c, a, b: [torch.where(c, a, b), torch.where(c, a, 0.0), a.masked_fill(c, -1.0)], [r(3, 4) > 0, r(3, 4), r(4)]),
    "clamp": (lambda x: [x.clamp(min=0.1), x.clamp(max=0.2), x.clamp(-0.1, 0.4)], [r(3, 4)]),
    "reductions": (lambda x: [x.sum(), x.sum(1), x.mean((0, 2), keepdim=True), x.amax(-1), x.amin(0), x.prod(1), x.var(1), x.std(-1),
                              x.var(0, correction=0, keepdim=True), x.logsumexp(1), x.norm(dim=1), x.argmax(1), x.argmin(), x.any(0), x.all()],
                   [r(3, 4, 5)]),
    "reductions of integers": (lambda x: [x.sum(), x.max(), (x > 1).sum(0), x.amax(1)], [ids(7, 3, 4)]),
    "extremes": (lambda x: [*x.max(1), *x.min(0, keepdim=True), *x.topk(3, -1), *x.sort(1)], [r(4, 6)]),
    "softmax": (lambda x: [x.softmax(1), x.log_softmax(-1), x.softmax(0)], [r(3, 5, 2)]),
    "shapes": (lambda x: [x.reshape(6, 4), x.view(2, -1), x.permute(2, 0, 1), x.transpose(0, 1), x.unsqueeze(1), x[:, None].squeeze(1),
                          x.flatten(1), x.expand(2, 2, 3, 4), x.unflatten(2, (2, 2)), x.movedim(0, 2), x.mT], [r(2, 3, 4)]),
    "slices": (lambda x: [x[1:], x[:, ::2], x[..., -2:], x[:, 1], x[0, -1], x[:, 1:-1], x.narrow(1, 1, 3), x.flip(1), x.flip((0, 2)),
                          x.roll(2, 1), x[:, 10:]], [r(3, 6, 4)]),
    "parts": (lambda x: [*x.split(2, 1), *x.chunk(3, 1), *x.unbind(0), *x.split([1, 5], 1)], [r(2, 6, 3)]),
    "joined": (lambda a, b: [torch.cat([a, b], 1), torch.stack([a, a], 1), torch.cat([a, b, a], -1), a.repeat(2, 1, 3), a.repeat_interleave(2, 1),
                             torch.cat([a, torch.zeros(0)])], [r(2, 3), r(2, 3)]),
    "padding": (lambda x: [F.pad(x, (1, 2)), F.pad(x, (0, 0)) + 1, F.pad(x, (1, 1, 2, 0), value=3.0), F.pad(x, (-1, 2)), F.pad(x, (2, 1, 1, 2), mode="reflect"),
                           F.pad(x, (2, 1, 1, 0), mode="replicate")], [r(2, 3, 5, 6)]),
    "products": (lambda a, b, c: [a @ b, torch.bmm(c, c.mT), c @ b, torch.einsum("bij,jk->bki", c, b), b.mv(a[0, :5]), a[0] @ b, b.T @ b],
                 [r(3, 4)[:, :4].repeat(1, 2)[:, :5], r(5, 5), r(2, 3, 5)]),
    "linear": (lambda x, w, b: [F.linear(x, w, b), F.linear(x, w), F.linear(x[0], w, b), F.linear(x[0, 0], w, b)], [r(2, 3, 8), r(4, 8), r(4)]),
    "addmm": (lambda b, x, y: [torch.addmm(b, x, y, beta=0.5, alpha=2), torch.baddbmm(b[None], x[None], y[None])], [r(3, 4), r(3, 5), r(5, 4)]),
    "convolutions": (lambda x, w, b, d: [F.conv2d(x, w, b, stride=2, padding=1), F.conv2d(x, d, groups=4, dilation=2),
                                         F.conv_transpose2d(x, w.transpose(0, 1), None, stride=2, padding=1, output_padding=1),
                                         F.conv1d(x[:, :, 0], w[:, :, 0], b, padding=1), F.conv2d(x, w, padding="same"),
                                         F.conv3d(x[:, :, None], w[:, :, None]), F.conv_transpose1d(x[:, :, 0], w[:, :, 0].transpose(0, 1), b)],
                     [r(2, 4, 9, 10), r(6, 4, 3, 3), r(6), r(8, 1, 3, 3)]),
    "norms": (lambda x, s, b, v: [F.layer_norm(x, (8,), b[:8], s[:8]), F.layer_norm(x, (6, 8)), F.batch_norm(x, b, v, s, b),
                                  F.group_norm(x, 2, s, b), F.group_norm(x, 1, s, b), F.instance_norm(x), F.rms_norm(x, (8,), s[:8]),
                                  F.normalize(x, dim=1)], [r(2, 8, 6, 8), p(8), r(8), p(8)]),
    "attention": (lambda q, k, v, m: [F.scaled_dot_product_attention(q, k, v), F.scaled_dot_product_attention(q, k, v, is_causal=True),
                                      F.scaled_dot_product_attention(q, k, v, m > 0), F.scaled_dot_product_attention(q, k, v, m),
                                      F.scaled_dot_product_attention(q, k[:, :2], v[:, :2], enable_gqa=True, scale=0.3)],
                  [r(2, 4, 5, 8), r(2, 4, 7, 8), r(2, 4, 7, 8), r(2, 1, 5, 7).index_fill(3, torch.tensor(0), 1.0)]),
    "indexing": (lambda x, i, w: [F.embedding(i, w), x[i], x[:, i], x.gather(1, i[:, :3]), x[i, i], x[:, [0, 2]], x.index_select(1, i[0]),
                                  torch.take_along_dim(x, i[:, :3], 1), x[i[:, :1], [0, 1]]], [r(4, 5), ids(4, 2, 3).repeat(2, 1), r(9, 6)]),
    "scattered": (lambda x, i: [x.scatter(1, i, 0.5), x.scatter(1, i, x * 2), x.index_put((i[0],), x[0]), _filled(x)],
                  [r(3, 3), torch.stack([torch.randperm(3) for _ in range(3)])]),
    "pooling": (lambda x: [F.max_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 2), F.avg_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 3, 1, 1, count_include_pad=False),
                           F.max_pool2d(x, 3, 2, ceil_mode=True), F.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, (3, 4)),
                           F.adaptive_avg_pool2d(x, (4, 5)), F.adaptive_max_pool2d(x, 1), F.max_pool1d(x[:, :, 0], 2), F.avg_pool1d(x[:, 0], 2),
                           F.avg_pool2d(x, 2, ceil_mode=True), F.max_pool2d(x[0], 2)], [r(2, 3, 9, 11)]),
    "resize": (lambda x: [F.interpolate(x, scale_factor=2), F.interpolate(x, (9, 7), mode="bilinear"), F.interpolate(x, (9, 7), mode="nearest"),
                          F.interpolate(x, (9, 7), mode="nearest-exact"), F.interpolate(x, (9, 7), mode="bilinear", align_corners=True),
                          F.interpolate(x, scale_factor=1.7, mode="bilinear"), F.interpolate(x, (9, 7), mode="bicubic"),
                          F.pixel_shuffle(x, 2)], [r(2, 4, 5, 6)]),
    "sources": (lambda x: [torch.arange(5) + x[0, 0], torch.zeros_like(x) + x, torch.full((2, 2), 3.5) * x[0, 0], torch.ones(4) * x, x.tril(), x.triu(1),
                           torch.linspace(0, 1, 4) * x, torch.eye(4)[:3] + x], [r(3, 4)]),
    "no elements": (lambda x: [x + 1, x.sum(0), torch.cat([x, x])], [r(0, 3)]),
    "scalars": (lambda x, y: [x * y, x + 1, y.sum() * x, x.reshape(1)], [torch.tensor(2.0), r(3)]),
    "noncontiguous": (lambda x, y: [x.T @ y, x + 1], [r(5, 4).T, r(4, 3)]),
}


def _filled(x):
    y = x.clone()
    y[1:, :2] = 7.0
    y[0] = x[2]
    return y


def through(function, args, place, **options):
    """One engine of a function, with no dynamo."""
    traced = from_dynamo(lambda *a: tuple(v.clone() for v in _list(function(*a))), args)
    call = compiled(traced, attributes(traced), place, Options.of({**OPTIONS, "whole_graph": True, **options}))
    return call


def _list(result):
    return result if isinstance(result, (list, tuple)) else [result]


@pytest.mark.parametrize("name", CASES)
def test_operations(name, place):
    function, args = CASES[name]
    args = [a.to(place) for a in args]
    call = through(function, args, place)
    for got, want in zip(call(*args), _list(function(*args)), strict=True):
        agree(got, want)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", ["unary of positive", "activations", "softmax", "norms", "attention", "linear", "convolutions", "pooling"])
def test_operations_in_16_bits(name, dtype, place):
    function, args = CASES[name]
    args = [a.to(place, dtype if a.is_floating_point() else a.dtype) for a in args]
    for got, want in zip(through(function, args, place)(*args), _list(function(*args)), strict=True):
        agree(got, want)


def test_constants_are_made_on_the_host_whatever_the_default_device(place):
    """Converters make tensors of their own: where torch would make them elsewhere, that changes nothing."""
    def function(x, w):
        return F.adaptive_avg_pool2d(F.pad(F.conv2d(x, w), (1, 1, 0, 0), mode="reflect"), (3, 4)) * 2.5 + x.flip(3).sum()

    args = [r(1, 2, 5, 7), r(3, 2, 1, 1)]
    torch.set_default_device("meta")
    (got,), want = through(function, args, place)(*args), function(*args)
    agree(got, want)


def test_every_converter_is_of_an_operation_that_torch_has():
    assert len(TABLE) > 250


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(8, 16), nn.LayerNorm(16), nn.Linear(16, 4)

    def forward(self, x):
        return self.last(F.gelu(self.norm(self.first(x))))


@torch.no_grad()
def test_compile_by_backend_name():
    model, x = Net().eval(), r(3, 8)
    run = torch.compile(model, backend="wootz", options=OPTIONS, fullgraph=True)
    for _ in range(3):
        agree(run(x), model(x))
    assert wootz.torch.statistics() == {"graphs": 1, "engines": 1, "left": []}


@torch.no_grad()
def test_open_extents_build_once_for_a_range():
    model = Net().eval()
    run = torch.compile(model, backend="wootz", options=OPTIONS, dynamic=True)
    for n in (5, 6, 19, 3):
        x = r(n, 8)
        agree(run(x), model(x))
    assert wootz.torch.statistics()["graphs"] == 1
    x = r(500, 8)  # beyond the range: the engine is built anew, the graph is not
    agree(run(x), model(x))
    assert wootz.torch.statistics()["graphs"] == 1


@torch.no_grad()
@pytest.mark.parametrize("function", [
    lambda x: x.reshape(x.shape[0] * x.shape[1], -1).sum(1), lambda x: x.transpose(0, 1).reshape(x.shape[1], -1), lambda x: x[:, 1:, :3],
    lambda x: x[:, -2:], lambda x: torch.cat([x, x], 1).mean(1), lambda x: x + torch.arange(x.shape[1], device=x.device)[:, None],
    lambda x: F.pad(x, (0, 0, 1, 2)), lambda x: x.new_full((x.shape[0], 2), 1.5), lambda x: x.expand(2, *x.shape).sum(0),
    lambda x: F.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None], is_causal=True),
    lambda x: F.interpolate(x[:, None], scale_factor=2), lambda x: (x.split([1, x.shape[1] - 1], 1)[1], x.shape[1] * 2)])
def test_open_extents(function):
    run = torch.compile(function, backend="wootz", options={**OPTIONS, "whole_graph": True}, dynamic=True)
    for n in (5, 9):
        x = r(3, n, 4)
        for got, want in zip(_list(run(x)), _list(function(x)), strict=True):
            agree(got, want)


@torch.no_grad()
def test_what_has_no_converter_stays_with_torch(caplog):
    def function(x):
        y = torch.relu(x @ x) + 1
        y = torch.special.bessel_j0(y)
        return (y * 2).tanh() @ x

    x = r(4, 4)
    with caplog.at_level(logging.WARNING, "wootz.torch"):
        run = torch.compile(function, backend="wootz", options={**OPTIONS, "min_block_size": 2})
        agree(run(x), function(x))
    assert [m for m in caplog.messages if "1 of 7 operations stay with torch: aten.special_bessel_j0.default: no converter" in m], caplog.messages
    assert wootz.torch.statistics()["engines"] == 2
    with pytest.raises(Exception, match="special_bessel_j0"):
        torch._dynamo.reset()
        torch.compile(function, backend="wootz", options={**OPTIONS, "whole_graph": True})(x)


def test_training_and_changed_inputs_stay_with_torch(caplog):
    model, x = Net().eval(), r(3, 8)
    run = torch.compile(model, backend="wootz", options=OPTIONS)
    run(x).sum().backward()
    assert model.first.weight.grad is not None
    assert "gradients are wanted" in caplog.text

    def change(x):
        x.add_(1)
        return x * 2

    y = torch.zeros(3)
    assert torch.compile(change, backend="wootz", options=OPTIONS)(y).tolist() == [2, 2, 2] and y.tolist() == [1, 1, 1]
    assert "it changes its inputs" in caplog.text
    x = r(4, 4)
    whole, view = torch.compile(lambda x: (x.exp() + 1, x[1:]), backend="wootz", options=OPTIONS)(x)
    agree(whole, x.exp() + 1)
    assert view.data_ptr() == x[1:].data_ptr()


@torch.no_grad()
def test_other_weights_are_seen():
    model, x = Net().eval(), r(3, 8)
    run = torch.compile(model, backend="wootz", options=OPTIONS)
    agree(run(x), model(x))
    model.first.weight.mul_(2)
    agree(run(x), model(x))
    model.last.weight = nn.Parameter(r(4, 16))
    agree(run(x), model(x))
    layers = [Net().eval() for _ in range(3)]
    for layer in layers:
        layer.compile(backend="wootz", options=OPTIONS)
    for layer in layers + layers:
        agree(layer(x), layer._orig_mod(x) if hasattr(layer, "_orig_mod") else layer.forward(x))


@torch.no_grad()
def test_half_and_autocast(place):
    model, x = Net().eval(), r(3, 8)
    half = torch.compile(Net().eval().half(), backend="wootz", options=OPTIONS)(x.half())
    assert half.dtype == torch.float16
    run = torch.compile(model, backend="wootz", options=OPTIONS)
    with torch.autocast(place.type, torch.bfloat16):
        agree(run(x), model(x))


@torch.no_grad()
def test_modules_are_saved_and_loaded(tmp_path, place):
    model, n = Net().eval(), torch.export.Dim("n", min=1, max=32)
    made = wootz.torch.export(model, r(3, 8), path=tmp_path / "net.wootz", dynamic_shapes=({0: n},), options=OPTIONS)
    code = f"""
import sys, torch, wootz.torch
model = wootz.torch.load({str(tmp_path / 'net.wootz')!r})
x, want = torch.load({str(tmp_path / 'data.pt')!r})
assert (model(x) - want).abs().max() < 1e-5
try:
    model(torch.zeros(33, 8, device={str(place)!r}))
except ValueError as error:
    assert "is 33; the engine was built for" in str(error)
else:
    sys.exit("not refused")
"""
    x = r(1, 8)
    agree(made(x), model(x))
    torch.save((x, model(x)), tmp_path / "data.pt")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    program = torch.export.export(model, (r(3, 8),))
    x = r(3, 8)
    agree(wootz.torch.compile(program, options=OPTIONS)(x), model(x))


@torch.no_grad()
def test_results_keep_their_structure(tmp_path):
    class Two(nn.Module):
        def forward(self, x, *, scale):
            return {"a": x * scale, "b": [x + 1, None]}

    x = r(2, 3)
    made = wootz.torch.compile(Two(), x, {"scale": x}, options=OPTIONS)
    made.save(tmp_path / "two.wootz")
    for run in (made, wootz.torch.load(tmp_path / "two.wootz")):
        got = run(x, scale=x)
        agree(got["a"], x * x)
        agree(got["b"][0], x + 1)
        assert got["b"][1] is None
    with pytest.raises(TypeError):
        run(x)


@torch.no_grad()
def test_modules_check_what_they_are_given(tmp_path):
    class Scaled(nn.Module):
        def forward(self, x, times):
            return x * times

    made = wootz.torch.export(Scaled(), (r(2, 3), 4), path=tmp_path / "scaled.wootz", options=OPTIONS)
    for run in (made, wootz.torch.load(tmp_path / "scaled.wootz")):
        agree(run(torch.ones(2, 3), 4), torch.full((2, 3), 4.0))
        for bad, error, message in (((r(2, 3), 5), ValueError, "compiled for 4"), ((r(2, 3).double(), 4), TypeError, "compiled for torch.float32"),
                                    ((r(3, 3), 4), ValueError, r"compiled for \(2, 3\)"), ((3, 4), TypeError, "input x is int"),
                                    ((r(2, 3),), TypeError, "2 arguments"), ((r(2, 3).to("meta"), 4), ValueError, "is on meta")):
            with pytest.raises(error, match=message):
                run(*bad)


@torch.no_grad()
def test_plans_are_kept(tmp_path, monkeypatch):
    model, x = Net().eval(), r(3, 8)
    options = {**OPTIONS, "cache": tmp_path}
    torch.compile(model, backend="wootz", options=options)(x)
    (plan,) = tmp_path.glob("*.plan")
    monkeypatch.setattr("wootz.torch._build.build_plan", lambda *_: pytest.fail("built again"))
    torch._dynamo.reset()
    agree(torch.compile(model, backend="wootz", options=options)(x), model(x))
    monkeypatch.undo()
    plan.write_bytes(b"damaged")
    torch._dynamo.reset()
    agree(torch.compile(model, backend="wootz", options=options)(x), model(x))
    assert plan.stat().st_size > 1000
