"""Images in other sizes, and sampled at points."""
from .._shapes import is_symbolic
from ..._wootz import InterpolationMode, ResizeCoordinateTransformation, ResizeRoundMode, SampleMode
from . import converts

_MODES = {"nearest": InterpolationMode.NEAREST, "linear": InterpolationMode.LINEAR, "cubic": InterpolationMode.CUBIC}


def _resized(w, x, mode, transformation, rounding, scales):
    """To the result's extents, or by factors where torch places points by these."""
    layer, sizes, want = w.network.add_resize(x), w.node.args[0].meta["val"].shape, w.result.shape
    layer.resize_mode = _MODES[mode]
    layer.coordinate_transformation, layer.nearest_rounding = transformation, rounding
    scales = [s for s in scales if s is not None]
    by_extents = not scales or transformation == ResizeCoordinateTransformation.ALIGN_CORNERS or all(
        not is_symbolic(a) and a * s == b for a, b, s in zip(sizes[2:], want[2:], scales))
    if not by_extents:
        layer.scales = [1.0, 1.0, *scales]
    elif any(map(is_symbolic, want)):
        layer.set_input(1, w.shape_tensor(want))
    else:
        layer.shape = tuple(int(s) for s in want)
    return w.made(layer)


def _vector(w):
    """Whether it is the form with a list of factors, from which no extent follows otherwise."""
    return "vec" in w.node.target.name()


def _nearest(exact):
    transformation = ResizeCoordinateTransformation.HALF_PIXEL if exact else ResizeCoordinateTransformation.ASYMMETRIC
    rounding = ResizeRoundMode.HALF_UP if exact else ResizeRoundMode.FLOOR

    def convert(w, x, extents, *scales):
        scales = (scales[0] or ()) if _vector(w) and scales else () if _vector(w) else scales
        return _resized(w, x, "nearest", transformation, rounding, scales)

    return convert


def _smooth(mode):
    def convert(w, x, extents, align_corners, *scales):
        scales = (scales[0] or ()) if _vector(w) and scales else () if _vector(w) else scales
        kinds = ResizeCoordinateTransformation
        return _resized(w, x, mode, kinds.ALIGN_CORNERS if align_corners else kinds.HALF_PIXEL, ResizeRoundMode.FLOOR, scales)

    return convert


for _space in (1, 2, 3):
    for _form in ("", ".vec"):
        converts(f"upsample_nearest{_space}d{_form}")(_nearest(False))
        converts(f"_upsample_nearest_exact{_space}d{_form}")(_nearest(True))
for _form in ("", ".vec"):
    converts(f"upsample_linear1d{_form}", f"upsample_bilinear2d{_form}", f"upsample_trilinear3d{_form}")(_smooth("linear"))
    converts(f"upsample_bicubic2d{_form}")(_smooth("cubic"))


@converts("grid_sampler_2d", "grid_sampler_3d", "grid_sampler")
def grid_sampler(w, x, grid, mode, outside, align_corners):
    layer = w.network.add_grid_sample(x, grid)
    w.require(hasattr(layer, "sample_mode"), "grid_sample")
    layer.interpolation_mode = (InterpolationMode.LINEAR, InterpolationMode.NEAREST, InterpolationMode.CUBIC)[mode]
    layer.sample_mode = (SampleMode.FILL, SampleMode.CLAMP, SampleMode.REFLECT)[outside]
    layer.align_corners = align_corners
    return w.made(layer)
