"""What an installed package does: run by test_wheel.py in an environment of its own, outside of the repository's folder."""
import importlib.metadata
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import wootz
import wootz as trt

PACKAGE = pathlib.Path(wootz.__file__).parent
COMMAND = pathlib.Path(sys.prefix) / "bin/wootz"


def network_of_relu():
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    x = network.add_input("x", trt.float32, (2, 3))
    y = network.add_activation(x, trt.ActivationType.RELU).get_output(0)
    y.name = "y"
    network.mark_output(y)
    return logger, builder, network


def plan_of_relu(**flags):
    _, builder, network = network_of_relu()
    config = builder.create_builder_config()
    for flag, on in flags.items():
        if on:
            config.set_flag(getattr(trt.BuilderFlag, flag))
    return bytes(builder.build_serialized_network(network, config))


def expect_relu(context):
    x = np.array([[-1, 2, -3], [4, -5, 6]], np.float32)
    np.testing.assert_array_equal(wootz.infer(context, {"x": x})["y"], np.maximum(x, 0))


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_installed_package_is_what_runs():
    assert PACKAGE.is_relative_to(sys.prefix), PACKAGE
    mapped = {line.split()[-1] for line in open("/proc/self/maps") if "wootz" in line}
    assert mapped, "no library of the package is loaded"
    assert all(pathlib.Path(path).is_relative_to(PACKAGE) for path in mapped), mapped
    assert importlib.metadata.version("wootz") == run(COMMAND, "--version").split()[1].rstrip(",")


def test_a_network_builds_and_runs():
    engine = trt.Runtime(trt.Logger(trt.Logger.ERROR)).deserialize_cuda_engine(plan_of_relu())
    expect_relu(engine.create_execution_context())


def test_a_version_compatible_plan_brings_its_runtime():
    """The plan carries libwootz_runtime.so, which has to be where the package has it."""
    plan = plan_of_relu(VERSION_COMPATIBLE=True)
    assert len(plan) > (PACKAGE / "lib/libwootz_runtime.so").stat().st_size / 8
    runtime = trt.Runtime(trt.Logger(trt.Logger.ERROR))
    runtime.engine_host_code_allowed = True
    expect_relu(runtime.deserialize_cuda_engine(plan).create_execution_context())


def test_the_command_line_runs_plans(tmp_path):
    (tmp_path / "m.plan").write_bytes(plan_of_relu())
    np.save(tmp_path / "x.npy", np.full((2, 3), -1.5, np.float32))
    run(COMMAND, "run", tmp_path / "m.plan", "--input", f"x={tmp_path}/x.npy", "--output-dir", tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), np.zeros((2, 3), np.float32))
    assert "Usage" in run(sys.executable, "-m", "wootz", "--help").replace("USAGE", "Usage")


def test_libraries_of_cuda_are_told_by_name():
    """Where there are none, each is named with what follows; the same from the command line."""
    names = {entry["name"] for entry in wootz.backend_libraries()}
    assert {"driver", "NVRTC", "cuBLASLt", "cuDNN"} <= names
    for entry in wootz.backend_libraries():
        assert entry.get("version") or entry["missing"], entry
    text = run(COMMAND, "devices")
    assert all(name in text for name in names), text


def test_packages_of_this_python_are_searched(tmp_path):
    """torch's libraries of CUDA's lie in nvidia/*/lib beside it, wherever Python imports it from."""
    folders = [tmp_path / name / "nvidia" / part / "lib" for name in ("a", "b [1]") for part in ("cu13", "cudnn")]
    for folder in folders:
        folder.mkdir(parents=True)
    paths = [str(tmp_path / "b [1]"), str(tmp_path / "none"), "", str(tmp_path / "a"), str(tmp_path / "a")]
    assert wootz._libraries.package_folders(paths) == [str(folder) for folder in (*folders[2:], *folders[:2])]
    assert wootz._wootz._add_library_folder(str(folders[0])) == 0
    assert wootz._wootz._add_library_folder("") != 0


def test_headers_and_package_files_are_there():
    assert (PACKAGE / "include/NvInfer.h").is_file() and (PACKAGE / "lib/cmake/Wootz/WootzConfig.cmake").is_file()
    assert (PACKAGE / "py.typed").is_file()


def test_the_import_is_quick():
    """At most 50 ms beyond numpy's: time of the processor, and the best of some, as other work may run beside this, for half a minute too."""
    code = "import numpy, time; at = time.process_time(); import wootz; print(time.process_time() - at)"
    best, tries = 1.0, 0
    while best > 0.05 and tries < 60:
        best, tries = min(best, float(run(sys.executable, "-c", code))), tries + 1
    print(f"import wootz: {best * 1e3:.0f} ms beyond numpy's, the best of {tries}")
    assert best <= 0.05


@pytest.mark.parametrize("level", [10, 11])
def test_the_alias_comes_and_goes(level):
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    run(sys.executable, "-m", "wootz.alias", "--level", level)
    version = importlib.metadata.version("tensorrt")
    assert version.startswith(f"{level}.") and f"tensorrt {version}" in " ".join(run(*pip, "list").split())
    code = "import tensorrt, tensorrt_bindings, tensorrt_lean; print(tensorrt.__version__, tensorrt.Builder.__module__)"
    assert run(sys.executable, "-c", code).split()[0] == version
    run(*pip, "uninstall", "-y", "tensorrt")
    done = subprocess.run([sys.executable, "-c", "import tensorrt"], capture_output=True, text=True, timeout=60)
    assert "No module named 'tensorrt'" in done.stderr
