"""What `wootz quantize` asks for, where flags say nothing."""
import json
import os
import pathlib
import subprocess

import numpy as np
import pytest
from test_quantize import model, samples  # noqa: F401

WOOTZ = pathlib.Path(os.environ.get("WOOTZ_BUILD_DIR", pathlib.Path(__file__).resolve().parents[2] / "build" / "release")).resolve() / "bin" / "wootz"


def test_the_command_line_asks_for_what_is_given_alone(model, samples, tmp_path):
    """Zero points are the device's choice where no flag says otherwise, and no matter of other formats."""
    np.savez(tmp_path / "x.npz", x=np.abs(samples))
    wootz_quantize = lambda *how: subprocess.run([str(WOOTZ), "quantize", model, "-o", str(tmp_path / "out.onnx"), "--data", str(tmp_path / "x.npz"), "--device", "cpu", "--json", *how],
                                                 capture_output=True, text=True, check=True)
    first = lambda *how: json.loads(wootz_quantize(*how).stdout)["layers"][0]
    steps = lambda layer: layer["range"] / layer["scale"]
    assert (steps(first()), steps(first("--zero-points")), steps(first("--no-zero-points"))) == pytest.approx((255, 255, 127), rel=1e-5)
    assert first("--format", "fp16")["format"] == "fp16"
