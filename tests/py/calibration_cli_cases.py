"""INT8 calibration from the command line. Run by test_device.py as calibration_cases.py is."""
import numpy as np
import pytest
import wootz
from calibration_cases import BACKENDS, SHAPE, WOOTZ, call, int8_steps, model, open_model, options, samples, seed  # noqa: F401


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_command_line_calibrates(backend, model, samples, tmp_path):
    plan, cache = tmp_path / "y.plan", tmp_path / "cache"
    np.savez(tmp_path / "all.npz", x=samples[:7])  # the last batch is filled up
    common = [WOOTZ, "build", model, "-o", plan, "--device", backend, "--no-timing", "--int8", "--calib", cache]
    call(*common, "--calib-data", tmp_path / "all.npz", "--calib-algorithm", "minmax")
    assert int8_steps(plan.read_bytes()) == ["conv", "product"]
    first = cache.read_bytes()
    filled = tmp_path / "same"
    wootz.build(model, options=options(backend), calibration_data=samples[:7], calibration_cache=filled, calibration_algorithm="minmax")
    assert filled.read_bytes() == first
    # The cache alone, then beside data that need not even be readable.
    call(*common)
    assert int8_steps(plan.read_bytes()) == ["conv", "product"]
    (tmp_path / "other.npy").write_bytes(b"no array")
    done = call(*common, "--calib-data", tmp_path / "other.npy")
    assert "the data is only looked at if another algorithm wrote it" in done.stderr
    assert cache.read_bytes() == first
    # exec, by trtexec's names.
    done = call(WOOTZ, "exec", f"--onnx={model}", f"--saveEngine={plan}", "--int8", f"--calib={cache}", "--skipInference", "--heuristic",
                *([] if backend == "reference" else [f"--device={backend}"]))
    assert int8_steps(plan.read_bytes()) == ["conv", "product"]
    cache.unlink()
    call(WOOTZ, "exec", f"--onnx={model}", f"--saveEngine={plan}", "--best", f"--calib={cache}", f"--calibData={tmp_path / 'all.npz'}",
         "--calibAlgorithm=legacy", "--skipInference", "--heuristic", f"--device={backend}")
    assert cache.read_text().startswith("TRT-101600-LegacyCalibration\n")


def test_the_command_line_takes_shapes_of_batches(open_model, samples, tmp_path):
    np.save(tmp_path / "x.npy", samples)
    shape = "x:" + "x".join(map(str, SHAPE))
    largest = "x:8x16x8x8"
    common = ["--calib", tmp_path / "cache", "-v"]
    done = call(WOOTZ, "build", open_model, "-o", tmp_path / "p", "--device", BACKENDS[0], "--no-timing", "--int8", "--shapes", largest,
                "--calib-data", tmp_path / "x.npy", "--calib-shapes", shape, *common)
    assert "from 4 batches" in done.stdout + done.stderr
    (tmp_path / "cache").unlink()
    for flags, batches in ([f"--optShapesCalib={shape}"], 4), (["--profile=1", f"--optShapes={shape}", "--calibProfile=1"], 4), ([], 1):
        done = call(WOOTZ, "exec", f"--onnx={open_model}", f"--optShapes={largest}", *flags, "--int8", f"--calibData={tmp_path / 'x.npy'}",
                    f"--device={BACKENDS[0]}", "--skipInference", "--heuristic", "--verbose")
        assert f"from {batches} batches" in done.stdout + done.stderr, flags


CLI_BAD = [  # flags of build, status, text
    (["--calib", "none"], 2, "give --int8 too"),
    (["--int8", "--calib", "none"], 1, "none is not there, and no data"),
    (["--int8", "--calib-algorithm", "minmax"], 2, "give a cache"),
    (["--int8", "--calib-data", "DIR/none.npz"], 1, "none.npz is not there"),
    (["--int8", "--calib-data", "DIR"], 1, "there is no .npy and no .npz"),
    (["--int8", "--calib-data", "DIR/wide.npy"], 1, "'x' is float64, the network takes float32"),
    (["--int8", "--calib-data", "DIR/thin.npz"], 1, "'x' is 8x3x8x8, the network takes 2x16x8x8"),
    (["--int8", "--calib-data", "DIR/other.npz"], 1, "has 'z', the network's inputs are 'x'"),
    (["--int8", "--calib-data", "DIR/small.npz"], 1, "'x.npy' is compressed: write it with numpy.savez"),
    (["--int8", "--calib-data", "DIR/cut.npz"], 1, "is not a .npz file"),
    (["--int8", "--calib-data", "DIR/wide.npy", "--calib-algorithm", "best"], 2, "'best' is no algorithm"),
    (["--int8", "--calib-data", "DIR/wide.npy", "--calib-shapes", "x:1x16x8x8"], 1, "leaves none of it open; 1x16x8x8 is given"),
]


@pytest.mark.parametrize("number", range(len(CLI_BAD)))
def test_the_command_line_refuses_other_data(number, model, samples, tmp_path):
    flags, status, text = CLI_BAD[number]
    folder = tmp_path / "data"
    folder.mkdir()
    if flags[-1] != "DIR":
        np.save(folder / "wide.npy", samples.astype(np.float64))
        np.savez(folder / "thin.npz", x=samples[:, :3])
        np.savez(folder / "other.npz", z=samples)
        np.savez_compressed(folder / "small.npz", x=samples)
        whole = (folder / "thin.npz").read_bytes()
        (folder / "cut.npz").write_bytes(whole[:len(whole) // 2])
    done = call(WOOTZ, "build", model, "-o", tmp_path / "p", "--device", BACKENDS[0], "--no-timing", *(f.replace("DIR", str(folder)) for f in flags), status=status)
    assert text in done.stderr, done.stderr


def test_exec_does_not_calibrate_what_keeps_its_types(model, tmp_path):
    done = call(WOOTZ, "exec", f"--onnx={model}", "--stronglyTyped", "--int8", f"--calib={tmp_path / 'c'}", status=2)
    assert "nothing is calibrated" in done.stderr
    done = call(WOOTZ, "exec", f"--onnx={model}", f"--calib={tmp_path / 'c'}", status=2)
    assert "give --int8 too" in done.stderr
