"""Plans that hold a runtime, on an engine's device: as device_cases.py, whose model and helpers they use."""
import json
import os

import numpy as np
import pytest
import wootz
from device_cases import BACKENDS, SEED, SHAPES, TOLERANCE, WOOTZ, call, dense, plan_of  # noqa: F401: a fixture


@pytest.mark.parametrize("backend", BACKENDS)
def test_plans_are_run_by_the_runtime_that_they_hold(dense, tmp_path, backend):
    model, want = dense
    plan = plan_of(model, backend, shapes=SHAPES, flags=[wootz.BuilderFlag.VERSION_COMPATIBLE])
    assert wootz.plan_header(bytes(plan)[:256])["runtime_bytes"] > os.path.getsize(wootz.runtime_library())
    runtime = wootz.Runtime(wootz.Logger(wootz.Logger.INTERNAL_ERROR))
    runtime.use_plans_runtime()
    assert runtime.deserialize_cuda_engine(plan) is None, "its code was not allowed"
    runtime.engine_host_code_allowed = True
    engine = runtime.deserialize_cuda_engine(plan)
    assert engine is not None and engine.on_device == (backend == "cuda")
    context = engine.create_execution_context()
    rng = np.random.default_rng(SEED)
    for rows in (4, 1, 8):
        x = rng.standard_normal((rows, 6)).astype(np.float32)
        np.testing.assert_allclose(wootz.infer(context, {"x": x})["y"], want(x)["y"], **TOLERANCE)
    path, x = tmp_path / "dense.plan", rng.standard_normal((4, 6)).astype(np.float32)
    path.write_bytes(bytes(plan))
    np.save(tmp_path / "x.npy", x)
    for kind in ("lean", "dispatch"):
        done = call(WOOTZ, "exec", f"--loadEngine={path}", f"--useRuntime={kind}", f"--loadInputs=x:{tmp_path / 'x.npy'}",
                    f"--exportOutput={tmp_path / 'out.json'}", "--iterations=5", "--duration=0", "--warmUp=0")
        assert "[I] Runtime: " in done.stdout
        (row,) = json.loads((tmp_path / "out.json").read_text())
        np.testing.assert_allclose(np.array(row["values"]).reshape(4, 5), want(x)["y"], **TOLERANCE)
