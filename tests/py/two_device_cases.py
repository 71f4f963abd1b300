"""Engines on two GPUs from Python and the command line. Run by test_device.py, as device_cases.py is."""
import numpy as np
import pytest
import wootz
from device_cases import BACKENDS, SEED, SHAPES, TOLERANCE, WOOTZ, call, dense  # noqa: F401


def gpus():
    (cuda,) = [b for b in wootz.devices()["backends"] if b["backend"] == "cuda"]
    return cuda.get("devices", [])


def test_two_devices_side_by_side(dense, tmp_path):  # noqa: F811
    if "cuda" not in BACKENDS or len(gpus()) < 2:
        pytest.skip("needs two GPUs")
    model, want = dense
    plan = wootz.build(str(model), shapes=SHAPES, options={"device": "cuda:1", "timing": "0"})
    logger = wootz.Logger(wootz.Logger.ERROR)
    engines = [wootz.Runtime(logger, device=n).deserialize_cuda_engine(plan) for n in (0, 1)]
    assert [engine.device for engine in engines] == [0, 1]
    contexts = [engine.create_execution_context() for engine in engines]
    rng = np.random.default_rng(SEED)
    for rows in (4, 8, 1, 8):
        x = rng.standard_normal((rows, 6)).astype(np.float32)
        first, second = (wootz.infer(context, {"x": x})["y"] for context in contexts)
        np.testing.assert_array_equal(first, second)
        np.testing.assert_allclose(first, want(x)["y"], **TOLERANCE)
    with pytest.raises(ValueError, match="another engine"):
        contexts[0].set_tensor_address("x", wootz.DeviceMemory(engines[1], 96))
    assert wootz.Runtime(wootz.Logger(), device=99).deserialize_cuda_engine(plan) is None
    with pytest.raises(ValueError, match="device"):
        wootz.Runtime(logger, device=-5)
    path = tmp_path / "dense.plan"
    path.write_bytes(plan)
    call(WOOTZ, "run", path, "--device", "1", "--output-dir", tmp_path / "out")
    refused = call(WOOTZ, "run", path, "--device", "99", "--output-dir", tmp_path / "out", status=1)
    assert "there is no device 99 of backend cuda; there are 0: " in refused.stdout + refused.stderr
    refused = call(WOOTZ, "build", model, "-o", path, "--device", "cuda:99", "--no-timing", "--shapes", "x:4x6", status=1)
    assert "there is no device 99 of backend cuda" in refused.stdout + refused.stderr
    lines = call(WOOTZ, "devices").stdout.splitlines()
    assert [sum(line.startswith(f"  cuda:{n}") for line in lines) for n in (0, 1)] == [1, 1]
