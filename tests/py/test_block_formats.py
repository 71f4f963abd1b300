"""What wootz.quantize() writes as NVFP4 and MXFP8, code by code, against numpy."""
import ml_dtypes
import numpy as np
import onnx
import pytest
import wootz
from block_formats import BLOCKS, in_floats
from digits_cnn import SEED
from onnx import TensorProto, numpy_helper
from test_quantize import OPTIONS, distance, network


def nearest_e2m1(values):
    return np.clip(values, -6, 6).astype(ml_dtypes.float4_e2m1fn).astype(np.float32)


@pytest.mark.parametrize("form", list(BLOCKS))
def test_block_formats_are_what_numpy_makes(form, tmp_path):
    print(f"seed: WOOTZ_SEED={SEED}")
    model = network(tmp_path / "model.onnx")
    out, block = tmp_path / f"{form}.onnx", BLOCKS[form]
    report = wootz.quantize(model, out, format=form, options=OPTIONS, seed=SEED)
    written = onnx.load(out)
    onnx.checker.check_model(written, full_check=True)
    assert written.opset_import[0].version == {"nvfp4": 23, "mxfp8": 24}[form]
    stored = {t.name: (t.data_type, numpy_helper.to_array(t)) for t in written.graph.initializer}
    weights = next(numpy_helper.to_array(t) for t in onnx.load(model).graph.initializer if t.name == "w2")
    blocks = weights.reshape(10, -1, block)
    most = np.abs(blocks).max(axis=2)
    if form == "nvfp4":
        assert [stored[n][0] for n in ("w2_quantized", "w2_scale", "w2_tensor_scale")] == [TensorProto.FLOAT4E2M1, TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT]
        of_all = np.abs(weights).max() / np.float32(6 * 448)
        assert stored["w2_tensor_scale"][1] == of_all
        plain = np.maximum((most / np.float32(6) / of_all).astype(ml_dtypes.float8_e4m3fn).view(np.uint8).astype(int), 1)
        least = np.full(most.shape, np.inf)
        for near in (0, -1, -2, 1, 2, 3, 4, 5):
            code = plain + near
            scale = np.clip(code, 1, 0x7e).astype(np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float32) * of_all
            lost = np.square((blocks - nearest_e2m1(blocks / scale[..., None]) * scale[..., None]).astype(np.float64)).sum(axis=2)
            lost[(code < 1) | (code > 0x7e)] = np.inf
            least = np.minimum(least, lost)
        scale = stored["w2_scale"][1].astype(np.float32) * of_all
        back = nearest_e2m1(blocks / scale[..., None])
        np.testing.assert_allclose(np.square((blocks - back * scale[..., None]).astype(np.float64)).sum(axis=2), least, rtol=1e-6)
    else:
        assert [stored[n][0] for n in ("w2_quantized", "w2_scale")] == [TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E8M0]
        scale = np.exp2(np.ceil(np.log2(most.astype(np.float64) / 448))).astype(np.float32)
        np.testing.assert_array_equal(stored["w2_scale"][1].astype(np.float32), scale)
        back = (blocks / scale[..., None]).astype(ml_dtypes.float8_e4m3fn).astype(np.float32)
    np.testing.assert_array_equal(stored["w2_quantized"][1].astype(np.float32).reshape(blocks.shape), back)
    _, made = in_floats(out, tmp_path / "plain.onnx")
    np.testing.assert_array_equal(made["w2_dequantized"].reshape(blocks.shape), back * scale[..., None])
    layer = next(layer for layer in report["layers"] if layer["name"] == "product2")
    assert layer["weight_error"] == pytest.approx(distance(made["w2_dequantized"], weights), rel=1e-4)
    assert layer["weight_scales"] == pytest.approx([scale.min(), scale.max()], rel=1e-6)
