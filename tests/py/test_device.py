"""device_cases.py and the other *_cases.py for devices in processes of their own: on the CPU, on the emulator, and on a GPU where there is one."""
import os
import pathlib
import subprocess
import sys

import pytest
from conftest import FIGURES

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WOOTZ_BUILD_DIR", ROOT / "build" / "release")).resolve()
CASES = [pathlib.Path(__file__).with_name(f"{name}_cases.py")
         for name in ("device", "device_plan", "layer", "two_device", "collective", "calibration", "calibration_cli", "tool", "weight_only", "array")]
EMULATOR = BUILD / "emulator"

import wootz  # noqa: F401
import onnx  # noqa: F401


def run(backends, **environment):
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs", *CASES],
                          env={**os.environ, "WOOTZ_CASES": backends, **environment}, capture_output=True, text=True, timeout=900)
    print(done.stdout[-20000:], done.stderr[-5000:])
    assert done.returncode == 0, f"device_cases.py: status {done.returncode}\n{done.stdout[-8000:]}\n{done.stderr[-2000:]}"
    return done.stdout.strip().splitlines()[-1]


def gpus():
    """How many NVIDIA GPUs the driver of this machine, if it has one, finds."""
    code = "import ctypes; d = ctypes.CDLL('libcuda.so.1'); n = ctypes.c_int(); print(0 if d.cuInit(0) or d.cuDeviceGetCount(ctypes.byref(n)) else n.value)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    return int(done.stdout.strip() or 0) if done.returncode == 0 else 0


def test_on_the_processor():
    run("cpu reference")


def test_on_the_emulator():
    if not EMULATOR.is_dir():
        pytest.skip("this build has no cuda backend")
    run("cpu cuda", LD_LIBRARY_PATH=str(EMULATOR), WOOTZ_CUDA_CACHE="", WOOTZ_EMULATOR_DEVICES="2")


def test_on_a_gpu():
    count = gpus()
    if count == 0:
        FIGURES.append("NOT RUN ON A GPU: Python's and the command line's cases (tests/py/test_device.py): no NVIDIA GPU here")
        pytest.skip("NO NVIDIA GPU ON THIS MACHINE")
    FIGURES.append(f"on a GPU (of {count}): {run('cpu cuda')}")
