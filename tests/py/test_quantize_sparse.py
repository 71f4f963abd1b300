"""wootz.quantize(sparse="2:4"): pruned models against numpy and ONNX Runtime, and built with and without SPARSE_WEIGHTS."""
import json
import subprocess

import numpy as np
import onnx
import pytest
import wootz
from onnx import numpy_helper
from test_quantize import OPTIONS, SEED, distance, model, network, ours, samples, theirs  # noqa: F401
from test_quantize_command import WOOTZ

# Where the sums of a layer's weights lie, as [.., sums].
AS_SUMS = {"f1": lambda w: np.moveaxis(w, 1, -1), "f2": lambda w: np.moveaxis(w, 1, -1), "w1": np.transpose, "w2": lambda w: w}


def tensors(path):
    return {t.name: numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}


def pruned_by_numpy(sums):
    fours = sums.reshape(-1, 4).copy()
    order = np.argsort(-np.abs(fours), axis=1, kind="stable")  # of equal ones the later go
    np.put_along_axis(fours, order[:, 2:], 0, axis=1)
    return fours.reshape(sums.shape)


def test_pruning_is_by_magnitude(model, samples, tmp_path):
    out = tmp_path / "sparse.onnx"
    report = wootz.quantize(model, out, data=samples, format="fp32", sparse="2:4", options=OPTIONS, report=tmp_path / "r.html")
    onnx.checker.check_model(onnx.load(out), full_check=True)
    before, after = tensors(model), tensors(out)
    layers = {layer["name"]: layer for layer in report["layers"]}
    for name, layer in zip(AS_SUMS, ("conv1", "conv2", "product1", "product2")):
        whole, sums = AS_SUMS[name](before[name]), AS_SUMS[name](after[f"{name}_pruned"])
        np.testing.assert_array_equal(sums, pruned_by_numpy(whole))
        assert layers[layer]["pruned"] == pytest.approx(np.sqrt(1 - np.square(sums, dtype=np.float64).sum() / np.square(whole, dtype=np.float64).sum()), rel=1e-6)
        assert layers[layer]["format"] == "fp32"
    assert layers["deconv"]["why_not"] == "a transposed convolution is not pruned" and "f3" in after
    assert (report["sparse"], report["layers_pruned"], report["layers_in_format"]) == ("2:4", 4, 4)
    x = samples[:2]
    np.testing.assert_allclose(ours(out, x), theirs(out, x), rtol=1e-4, atol=1e-5)
    batches = [samples[i:i + 2] for i in range(0, 8, 2)]
    cost = distance(*(np.concatenate([theirs(path, batch) for batch in batches]) for path in (out, model)))
    assert report["error"] == pytest.approx(cost, rel=0.01) and cost > 0.01
    assert "Pruned" in (tmp_path / "r.html").read_text()


def test_builds_find_the_zeros(model, samples, tmp_path):
    """What is found is said; on a processor nothing gains, and results are the same bits."""
    out = tmp_path / "sparse.onnx"
    wootz.quantize(model, out, data=samples, format="fp32", sparse="2:4", options=OPTIONS)
    x, runtime = samples[:2], wootz.Runtime(wootz.Logger(wootz.Logger.ERROR))
    results = []
    for sparse in (False, True):
        plan = wootz.build(str(out), options=OPTIONS, sparse_weights=sparse, report=tmp_path / "r.json")
        report = json.loads((tmp_path / "r.json").read_text())
        found = [layer["Name"] for layer in report["layers"] if layer.get("Sparsity") == "2:4 weights, computed as dense ones"]
        assert len(found) == (4 if sparse else 0), found
        assert [n["Node"] for n in report["notes"] if n["Kind"] == "2:4 weights"] == found
        results.append(wootz.infer(runtime.deserialize_cuda_engine(plan).create_execution_context(), {"x": x})["y"])
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("form", ["int8", "fp8", "fp16", "bf16"])
def test_zeros_come_before_rounding(form, model, samples, tmp_path):
    out = tmp_path / f"{form}.onnx"
    report = wootz.quantize(model, out, data=samples, format=form, sparse="2:4", options=OPTIONS)
    onnx.checker.check_model(onnx.load(out), full_check=form != "bf16")
    layers = {layer["name"]: layer for layer in report["layers"]}
    assert all(layer["in_format"] for layer in layers.values()) and report["layers_pruned"] == 4
    assert layers["deconv"]["not_pruned"] == "a transposed convolution is not pruned"
    assert all(layers[n]["pruned"] > 5 * layers[n]["weight_error"] > 0 for n in ("conv1", "conv2", "product1", "product2"))
    written = tensors(out)
    for name, sums in AS_SUMS.items():
        narrow = written[f"{name}_pruned_" + ("quantized" if form in ("int8", "fp8") else "f16" if form == "fp16" else "bf16")]
        fours = sums(narrow.astype(np.float32)).reshape(-1, 4)
        assert ((fours != 0).sum(1) <= 2).all()
    whole = wootz.quantize(model, tmp_path / "whole.onnx", data=samples, format=form, options=OPTIONS)
    assert report["error"] > whole["error"]
    x = samples[:2]
    if form != "bf16":
        assert distance(ours(out, x), theirs(out, x, optimized=form == "fp16")) <= 0.03


def test_four_bits_with_zeros(model, samples, tmp_path):
    for zero_points in (False, True):
        out = tmp_path / "int4.onnx"
        report = wootz.quantize(model, out, format="int4", block=64, zero_points=zero_points, sparse="2:4", seed=SEED, options=OPTIONS)
        layers = {layer["name"]: layer for layer in report["layers"]}
        assert report["layers_pruned"] == 1 and "pruned" in layers["product2"] and "f1" in tensors(out)
        written = tensors(out)
        values = written["w2_pruned_quantized"].astype(np.float32)
        if zero_points:
            values -= np.repeat(written["w2_pruned_zero_point"].astype(np.float32), 64, axis=1)
        assert ((values.reshape(-1, 4) != 0).sum(1) <= 2).all()
        assert distance(ours(out, samples[:2]), theirs(out, samples[:2])) < 1e-4


def test_a_budget_keeps_layers_whole(model, samples, tmp_path):
    how = dict(data=samples, format="fp32", sparse="2:4", options=OPTIONS)
    whole = wootz.quantize(model, tmp_path / "all.onnx", sensitivity=True, **how)
    assert sum("sensitivity" in layer for layer in whole["layers"]) == 4
    report = wootz.quantize(model, tmp_path / "budget.onnx", budget=whole["error"] * 0.7, **how)
    kept = [layer["name"] for layer in report["layers"] if layer.get("why_not") == "kept in float by the budget"]
    assert 0 < len(kept) < 4 and report["error"] <= whole["error"] * 0.7 and report["layers_pruned"] == 4 - len(kept)
    asked = wootz.quantize(model, tmp_path / "kept.onnx", keep=["conv2"], **how)
    assert {layer["name"]: layer.get("why_not") for layer in asked["layers"]}["conv2"] == "kept in float" and "f2" in tensors(tmp_path / "kept.onnx")


def test_what_is_no_pattern_is_refused(model, samples, tmp_path):
    out = tmp_path / "no.onnx"
    for text, how in ((r"option 'sparse': '1:2' is no pattern of zeros that there is: 2:4", {"sparse": "1:2"}),
                      ("fp32 changes nothing without 'sparse'", {"format": "fp32"}),
                      ("for whole models", {"format": "fp32,int8", "sparse": "2:4", "best": True})):
        with pytest.raises(ValueError, match=text):
            wootz.quantize(model, out, data=samples, options=OPTIONS, **how)
    assert not out.exists()


def test_the_command_line(model, samples, tmp_path):
    np.savez(tmp_path / "x.npz", x=samples)
    out, plan = tmp_path / "sparse.onnx", tmp_path / "sparse.plan"
    call = lambda *args: subprocess.run([str(WOOTZ), *map(str, args)], capture_output=True, text=True)
    done = call("quantize", model, "-o", out, "--format", "int8", "--sparse", "2:4", "--data", tmp_path / "x.npz", "--device", "cpu")
    assert done.returncode == 0, done.stderr
    assert "5 of 5 layers in int8, 4 pruned 2:4" in done.stdout and "not pruned: a transposed convolution" in done.stdout
    done = call("quantize", model, "-o", out, "--format", "fp32", "--sparse", "2:4", "--device", "cpu")
    assert done.returncode == 0 and "4 of 5 layers in fp32, 4 pruned 2:4" in done.stdout, done.stderr
    done = call("build", out, "-o", plan, "--sparse-weights", "--no-timing", "--device", "cpu", "-v")
    said = done.stdout + done.stderr
    assert done.returncode == 0 and "(Sparsity) 4 layers with 2:4 zeros in the weights" in said and "(Sparsity) 0 layers computed" in said, said
    assert "2:4 weights, computed as dense ones" in call("inspect", plan).stdout
    done = call("quantize", model, "-o", tmp_path / "no.onnx", "--format", "fp32", "--sparse", "4:8")
    assert done.returncode != 0 and "'4:8' is no pattern" in done.stderr and not (tmp_path / "no.onnx").exists()
