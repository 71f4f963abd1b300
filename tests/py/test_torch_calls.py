"""wootz.torch: what a call looks at, and which way it goes. Skipped where torch is not installed."""
import numpy as np
import pytest
from callback_network import SEED

torch = pytest.importorskip("torch", reason="torch is not installed")
from torch import nn  # noqa: E402

import wootz  # noqa: E402
import wootz.torch  # noqa: E402

OPTIONS = {"cache": False, "build": {"timing": "0"}}


@pytest.fixture(autouse=True, params=["cpu"] + ["cuda"] * torch.cuda.is_available())
def place(request):
    """The device of the tensors and modules that a test makes."""
    print(f"WOOTZ_SEED={SEED}")
    torch.manual_seed(SEED)
    torch.set_default_device(request.param)
    yield torch.device(request.param)
    torch.set_default_device(None)


def net():
    return nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4)).eval()


def same(got, want):
    torch.testing.assert_close(got, want, rtol=0, atol=2e-5)


@torch.no_grad()
def test_calls_go_the_short_way_where_they_are_as_before():
    """What a call is given is looked at each time: the long way takes what is not as in the call before."""
    model, x = net().eval(), torch.randn(3, 8)
    made = wootz.torch.compile(model, x, options=OPTIONS)
    assert made.call._short is None
    same(made(x), model(x))
    short = made.call._short
    assert short is not None
    first, given = torch.randn(3, 8), (made._before or ()) + (x,)
    results = [made(y) for y in (first, x, nn.Parameter(first))]
    assert made.call._short is short
    assert results[0].data_ptr() != results[1].data_ptr()  # tensors of their own
    for got, y in zip(results, (first, x, first)):
        same(got, model(y))
    for other in (first.t().contiguous().t(), torch.randn(6, 8)[::2]):  # the same shape, in other memory
        assert not other.is_contiguous() and short.run((made._before or ()) + (other,)) is None
        same(made(other), model(other))
    part = torch.randn(25)[1:].view(3, 8)  # in the midst of another: on a GPU not where 16 bytes can be read at once
    assert (short.run((made._before or ()) + (part,)) is None) == part.is_cuda
    same(made(part), model(part))
    for bad in (x.double(), x[:2], x[None], x.to("meta"), x.cpu().numpy(), None):
        assert short.run(given[:-1] + (bad,)) is None
        with pytest.raises((TypeError, ValueError)):
            made(bad)
    assert short.run(()) is None
    same(made(x), model(x))


@torch.no_grad()
def test_open_extents_go_the_short_way_from_the_second_call_on():
    model, n = net().eval(), torch.export.Dim("n", min=1, max=32)
    made = wootz.torch.compile(model, torch.randn(3, 8), dynamic_shapes=({0: n},), options=OPTIONS)
    for rows, short in ((3, False), (3, True), (3, True), (5, False), (5, True), (3, False)):
        x = torch.randn(rows, 8)
        same(made(x), model(x))
        assert (made.call._short is not None) == short


@pytest.fixture
def precisions():
    """torch's settings of convolutions and products, which are as they were afterwards."""
    kinds = (torch.backends.cudnn.conv, torch.backends.cuda.matmul)
    before = [kind.fp32_precision for kind in kinds]
    yield kinds
    for kind, value in zip(kinds, before):
        kind.fp32_precision = value


def test_tf32_is_as_torch_says(precisions):
    """Of an engine's layers together: torch lets convolutions by itself, and products where it is told to."""
    from wootz.torch._types import may_round, tf32_of_torch

    def network(*kinds):
        made = wootz.Builder(wootz.Logger()).create_network(0)
        x = made.add_input("x", wootz.float32, (1, 2, 4, 4))
        if "convolution" in kinds:
            made.add_convolution_nd(x, 2, (1, 1), wootz.Weights(np.ones((2, 2, 1, 1), np.float32)))
        if "product" in kinds:
            made.add_matrix_multiply(x, wootz.MatrixOperation.NONE, x, wootz.MatrixOperation.NONE)
        return made

    kinds = {(): network(), ("convolution",): network("convolution"), ("product",): network("product"), ("both",): network("convolution", "product")}
    for convolutions, products in ((False, False), (True, False), (False, True), (True, True)):
        for kind, allowed in zip(precisions, (convolutions, products)):
            kind.fp32_precision = "tf32" if allowed else "ieee"
        assert tf32_of_torch() == (convolutions, products)
        wanted = {(): True, ("convolution",): convolutions, ("product",): products, ("both",): convolutions and products}
        assert {kind: may_round(made) for kind, made in kinds.items()} == wanted
