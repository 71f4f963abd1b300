"""Layers that span devices, from Python. Run by test_device.py, as device_cases.py is; with two GPUs of the emulator its NCCL serves."""
import ctypes
import os
import pathlib
import subprocess
import sys
import threading

import numpy as np
import pytest
import wootz
from device_cases import BACKENDS, SEED, WOOTZ, call
from two_device_cases import gpus


def build(backend, ranks, add):
    """The plan of a network of one input x, and the builder's errors."""
    lines = []

    class Log(wootz.ILogger):
        def __init__(self):
            wootz.ILogger.__init__(self)

        def log(self, severity, text):
            if severity <= wootz.ILogger.ERROR:
                lines.append(text)

    logger = Log()
    builder = wootz.Builder(logger)
    network = builder.create_network(0)
    config = builder.create_builder_config()
    config.set_option("backend", backend)
    config.set_option("timing", "0")
    layer = add(network, network.add_input("x", wootz.DataType.FLOAT, (4, 3)))
    layer.num_ranks = ranks
    layer.name = "the_layer"
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    return builder.build_serialized_network(network, config), "\n".join(lines), network


def all_reduce(network, x):
    return network.add_dist_collective(x, wootz.CollectiveOperation.ALL_REDUCE, wootz.ReduceOperation.SUM, -1, [])


def test_layers_say_how_many_they_are():
    plan, errors, network = build("cpu", 1, all_reduce)
    assert plan is not None, errors
    layer = network.get_layer(0)
    assert isinstance(layer, wootz.IDistCollectiveLayer) and layer.type == wootz.LayerType.DIST_COLLECTIVE and layer.num_ranks == 1
    with pytest.raises(ValueError, match="the_layer"):
        layer.num_ranks = 0
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    context = wootz.Runtime(wootz.Logger()).deserialize_cuda_engine(plan).create_execution_context()
    np.testing.assert_array_equal(wootz.infer(context, {"x": x})["y"], x)


def test_several_ranks_need_gpus():
    plan, errors, _ = build("cpu", 2, all_reduce)
    assert plan is None
    assert "the_layer" in errors and "all_reduce of 2 ranks: layers that span devices run on GPUs" in errors


@pytest.fixture
def world():
    """Two communicators of this process, as numbers."""
    if "cuda" not in BACKENDS or len(gpus()) < 2:
        pytest.skip("needs two GPUs")
    try:
        nccl = ctypes.CDLL("libnccl.so.2")
    except OSError:
        pytest.skip("needs NCCL")
    comms = (ctypes.c_void_p * 2)()
    assert nccl.ncclCommInitAll(comms, 2, (ctypes.c_int * 2)(0, 1)) == 0
    yield [int(comm) for comm in comms]
    for comm in comms:
        nccl.ncclCommDestroy(ctypes.c_void_p(comm))


def capsule(number):
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return make(number, None, None)


@pytest.mark.parametrize("handle", [int, capsule])
def test_two_ranks(world, handle):
    gathered = lambda n, x: n.add_dist_collective(x, wootz.CollectiveOperation.ALL_GATHER, None, None, [1, 0])  # noqa: E731
    rng = np.random.default_rng(SEED)
    xs = [rng.integers(-9, 9, (4, 3)).astype(np.float32) for _ in range(2)]
    for add, want in ((all_reduce, xs[0] + xs[1]), (gathered, np.concatenate([xs[1], xs[0]]))):
        plan, errors, _ = build("cuda", 2, add)
        assert plan is not None, errors
        got = [None, None]

        def run(rank):
            context = wootz.Runtime(wootz.Logger(), device=rank).deserialize_cuda_engine(plan).create_execution_context()
            assert context.set_communicator(handle(world[rank]))
            got[rank] = wootz.infer(context, {"x": xs[rank]})["y"]
            assert context.set_communicator(None)

        threads = [threading.Thread(target=run, args=(rank,)) for rank in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for y in got:
            np.testing.assert_array_equal(y, want)


def test_what_is_no_communicator(world, tmp_path):
    plan, errors, _ = build("cuda", 2, all_reduce)
    assert plan is not None, errors
    context = wootz.Runtime(wootz.Logger(), device=0).deserialize_cuda_engine(plan).create_execution_context()
    with pytest.raises(TypeError, match="capsule"):
        context.set_communicator("the first one")
    path = tmp_path / "sum.plan"
    path.write_bytes(plan)
    refused = call(WOOTZ, "run", path, "--device", "0", "--output-dir", tmp_path / "out", status=1)
    assert "the_layer" in refused.stdout + refused.stderr and "setCommunicator" in refused.stdout + refused.stderr
    assert any(line.split()[:1] == ["NCCL"] for line in call(WOOTZ, "devices").stdout.splitlines())


WITHOUT_NCCL = """
import sys, wootz
context = wootz.Runtime(wootz.Logger(wootz.Logger.ERROR)).deserialize_cuda_engine(open(sys.argv[1], "rb").read()).create_execution_context()
assert context.set_communicator(64) is False
"""


def test_a_library_that_is_none_is_named(world, tmp_path):
    emulator = pathlib.Path(os.environ.get("LD_LIBRARY_PATH", ""))
    if emulator.name != "emulator":
        pytest.skip("a library that the system finds cannot be taken away")
    for library in emulator.iterdir():  # cuDNN's there has no functions: one for both
        (tmp_path / library.name).symlink_to(emulator / "libcudnn.so.9" if "nccl" in library.name else library)
    plan, errors, _ = build("cuda", 2, all_reduce)
    assert plan is not None, errors
    path = tmp_path / "sum.plan"
    path.write_bytes(plan)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", WITHOUT_NCCL, path], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr
    assert "the_layer" in said and "NCCL: libnccl has no function" in said
    devices = subprocess.run([WOOTZ, "devices"], env=environment, capture_output=True, text=True).stdout
    assert "libnccl has no function" in devices and "layers that span devices cannot run" in devices
