"""Comparing engines, and writing quantized models. Run by test_device.py as calibration_cases.py is."""
import json

import numpy as np
import onnx
import pytest
import wootz
from calibration_cases import BACKENDS, SEED, SHAPE, WOOTZ, call, engine_of, int8_steps, model, open_model, options, samples, seed  # noqa: F401
from onnx import helper, numpy_helper


def doubled(model, path, weights):
    """The model with one constant doubled."""
    other = onnx.load(model)
    for constant in other.graph.initializer:
        if constant.name == weights:
            constant.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(constant) * 2, weights))
    onnx.save(other, path)
    return str(path)


def value(comparison, name):
    return next(v for v in comparison["values"] if v["name"] == name)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_model_agrees_with_itself(backend, model):
    found = wootz.compare(model, model, options=options(backend), seed=SEED)
    assert found["same"] and found["first_divergence"] is None and found["seed"] == SEED and found["batches"] == 1
    y = value(found, "y")
    assert y["output"] and y["error"] == 0 and y["elements"] == 20 and y["layers"][0] == y["layers"][1] != ""
    assert sum(y["histogram"]) == 0 and y["cosine"] == pytest.approx(1)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_first_divergence_is_where_the_weights_are_others(backend, model, samples, tmp_path):
    other = doubled(model, tmp_path / "other.onnx", "w")
    every = {"disable_passes": "all"}
    found = wootz.compare(model, other, data=samples, options={**options(backend), **every}, report=tmp_path / "values.html")
    assert not found["same"] and found["first_divergence"] == "y" and found["batches"] == 4
    assert value(found, "m")["agrees"] and not value(found, "y")["agrees"]
    y = value(found, "y")
    assert y["error"] == pytest.approx(1, abs=1e-3) and y["cosine"] == pytest.approx(1, abs=1e-5) and sum(y["histogram"]) == 80
    page = (tmp_path / "values.html").read_text()
    assert page.startswith("<!DOCTYPE html>") and '"first_divergence":"y"' in page
    # Against the backend that computes everything by plain loops.
    exact = wootz.compare(model, model, data=samples, a_options={"backend": "reference"}, b_options=options(backend),
                          tolerance=0.005)  # a GPU's products round to TF32
    assert exact["same"], exact["first_divergence"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_not_finite_is_found(backend, model, samples):
    bad = samples[:2].copy()
    bad[1, 3, 4, 5] = np.nan
    found = wootz.compare(model, model, data=bad, options={**options(backend), "disable_passes": "all"}, a_options={"backend": "reference"},
                          tolerance=0.005)
    assert found["same"], "NaN in the same places"
    first = found["first_not_finite"][0]
    assert first["name"] == "c" and first["place"][0] == 1 and first["count"] > 0
    assert value(found, "c")["not_finite"][0] == value(found, "c")["not_finite"][1] > 0 == value(found, "c")["mismatched"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_quantized_model_is_written_and_computed_in_8_bits(backend, model, samples, tmp_path):
    out = tmp_path / "int8.onnx"
    report = wootz.quantize(model, out, data=samples, options=options(backend), report=tmp_path / "report.html")
    onnx.checker.check_model(str(out), full_check=True)
    assert [layer["in_format"] for layer in report["layers"]] == [True, True] and report["layers_in_format"] == 2
    assert 0 < report["error"] < 0.05 and report["ranges"] == "LeastErrorCalibration"
    conv = report["layers"][0]
    assert conv["range"] == pytest.approx(conv["scale"] * 127) and 0 < conv["weight_error"] < 0.02
    assert int8_steps(wootz.build(str(out), options=options(backend), report=tmp_path / "build.json")) == ["conv", "product"]
    assert "<table" in (tmp_path / "report.html").read_text()
    # The same as the calibrator's build.
    plan = wootz.build(model, options=options(backend), calibration_data=samples)
    found = wootz.compare(str(out), plan, data=samples, options=options(backend), tolerance=0.02)
    assert found["same"], value(found, "y")


def test_the_command_line_compares(model, samples, tmp_path):
    np.savez(tmp_path / "x.npz", x=samples)
    common = ["--device", BACKENDS[0], "--no-timing"]
    done = call(WOOTZ, "compare", model, model, *common)
    assert "--seed " in done.stdout and "The same, within the tolerance." in done.stdout
    plan = tmp_path / "model.plan"
    call(WOOTZ, "build", model, "-o", plan, *common)
    done = call(WOOTZ, "compare", model, plan, *common, "--data", tmp_path / "x.npz", "--json")
    assert json.loads(done.stdout)["same"] and json.loads(done.stdout)["batches"] == 4
    other = doubled(model, tmp_path / "other.onnx", "f")
    done = call(WOOTZ, "compare", plan, other, *common, "--data", tmp_path / "x.npz", "--html", tmp_path / "page.html", status=3)
    assert "the first in the order of execution" in done.stdout and (tmp_path / "page.html").stat().st_size > 10000
    call(WOOTZ, "compare", plan, other, *common, "--tolerance", "2")
    done = call(WOOTZ, "compare", model, model, *common, "--b-flags", "--disable-passes all", "--every-value", "--json", "--seed", "7")
    assert json.loads(done.stdout)["seed"] == 7 and {v["name"] for v in json.loads(done.stdout)["values"]} >= {"c", "r", "m", "y"}


@pytest.mark.parametrize("arguments, status, text", [
    (["--a-flags", "--no-such"], 2, "--a-flags: "),
    (["--data", "missing.npz"], 1, "data: missing.npz is not there"),
    (["--data", "short.npz"], 1, "'x' is 2x16x8x7, the network takes 2x16x8x8"),
    (["--data", "x.npz", "--seed", "1"], 2, "the inputs are not random"),
    (["--tolerance", "-1"], 2, "--tolerance"),
    (["--batches", "-1"], 2, "--batches"),
])
def test_what_cannot_be_compared_is_refused(arguments, status, text, model, samples, tmp_path):
    np.savez(tmp_path / "x.npz", x=samples)
    np.savez(tmp_path / "short.npz", x=samples[:2, :, :, :7])
    arguments = [str(tmp_path / a) if a.endswith("z") and (tmp_path / a).exists() else a for a in arguments]
    done = call(WOOTZ, "compare", model, model, "--device", BACKENDS[0], "--no-timing", *arguments, status=status)
    assert text in done.stderr.replace(str(tmp_path) + "/", ""), done.stderr


def test_two_models_without_a_common_output_are_refused(model, tmp_path):
    other = onnx.load(model)
    other.graph.node[-1].output[0] = other.graph.output[0].name = "z"
    onnx.save(other, tmp_path / "other.onnx")
    with pytest.raises(ValueError, match="no output in common"):
        wootz.compare(model, str(tmp_path / "other.onnx"), options=options(BACKENDS[0]))
    with pytest.raises(ValueError, match="is quantized already"):
        wootz.quantize(model, tmp_path / "int8.onnx", data=np.ones(SHAPE, np.float32), options=options(BACKENDS[0]))
        wootz.quantize(tmp_path / "int8.onnx", tmp_path / "again.onnx", data=np.ones(SHAPE, np.float32), options=options(BACKENDS[0]))


def test_the_command_line_quantizes(open_model, samples, tmp_path):
    np.savez(tmp_path / "x.npz", x=samples)
    common = ["--shapes", "x:" + "x".join(map(str, SHAPE)), "--device", BACKENDS[0]]
    refused = call(WOOTZ, "quantize", open_model, "-o", tmp_path / "no.onnx", *common, status=2)
    assert "--data: int8 needs representative inputs" in refused.stderr and not (tmp_path / "no.onnx").exists()
    done = call(WOOTZ, "quantize", open_model, "-o", tmp_path / "int8.onnx", *common, "--data", tmp_path / "x.npz", "--report", tmp_path / "r.html")
    assert "2 of 2 layers in int8" in done.stdout and (tmp_path / "r.html").exists()
    onnx.checker.check_model(str(tmp_path / "int8.onnx"), full_check=True)
    done = call(WOOTZ, "quantize", open_model, "-o", tmp_path / "kept.onnx", *common, "--data", tmp_path / "x.npz", "--keep", "conv", "--json")
    report = json.loads(done.stdout)
    assert [(layer["name"], layer["in_format"]) for layer in report["layers"]] == [("conv", False), ("product", True)]
    assert report["layers"][0]["why_not"] == "kept in float"
    done = call(WOOTZ, "quantize", open_model, "-o", tmp_path / "no.onnx", *common, "--data", tmp_path / "x.npz", "--keep", "nothing", status=1)
    assert "'nothing' is to stay in float, and is no convolution or product" in done.stderr
    for form, block in (("nvfp4", 16), ("mxfp8", 32)):
        done = call(WOOTZ, "quantize", open_model, "-o", tmp_path / f"{form}.onnx", *common, "--format", form)  # without data
        assert f"1 of 2 layers in {form}" in done.stdout
        onnx.checker.check_model(str(tmp_path / f"{form}.onnx"), full_check=True)
        done = call(WOOTZ, "quantize", open_model, "-o", tmp_path / "no.onnx", *common, "--format", form, "--block", 64, status=1)
        assert f"option 'block' is of int4; blocks of {form} have {block} elements" in done.stderr
    done = call(WOOTZ, "quantize", open_model, "-o", tmp_path / "no.onnx", "--data", tmp_path / "x.npz", "--format", "int3", *common, status=1)
    assert "there is no format 'int3'" in done.stderr
    done = call(WOOTZ, "quantize", open_model, "-o", tmp_path / "no.onnx", "--data", tmp_path / "x.npz", "--device", BACKENDS[0], status=1)
    assert "give --shapes x:..." in done.stderr and not (tmp_path / "no.onnx").exists()
