"""Plugins of decorated functions: register() says what a plugin's outputs are, impl() runs it, aot_impl() compiles it while building.

    import wootz as trt, wootz.plugin as trtp

    @trtp.register("my::scale")
    def describe(x: trtp.TensorDesc, factor: float) -> trtp.TensorDesc:
        return x.like()

    @trtp.impl("my::scale")
    def run(x: trtp.Tensor, factor: float, outputs: tuple, stream: int):
        outputs[0].numpy()[...] = x.numpy() * factor

    layer = network.add_plugin(trtp.op.my.scale(tensor, factor=2.0))
"""
from .._nvrtc import compile_source as compile_cuda  # noqa: F401
from ._autotune import AutoTuneCombination  # noqa: F401
from ._exprs import (cdiv, max, min, ShapeExpr, ShapeExprs, SizeTensorShapeExpr, SymExpr, SymExprs, SymInt8, SymInt16, SymInt32,  # noqa: A004,F401
                     SymIntExpr, SymIntExprs)
from ._quick import KernelLaunchParams  # noqa: F401
from ._register import aot_impl, autotune, impl, op, QDP_REGISTRY, register  # noqa: F401
from ._tensor import from_shape_expr, Shape, size_tensor, SizeTensorDesc, Tensor, TensorDesc  # noqa: F401
