"""Arrays of other packages with wootz.infer(), on either kind of memory. Run by test_device.py in a process of its own, with the backends
to try in WOOTZ_CASES ("cpu reference cuda"), on a GPU or on the emulator."""
import asyncio
import os

import numpy as np
import pytest
import wootz as trt
from callback_network import SEED, SHAPE, TOLERANCE, Heard, make, seed, want, x  # noqa: F401

BACKENDS = os.environ.get("WOOTZ_CASES", "cpu reference").split()


def load(backend, **kinds):
    heard = Heard()
    builder, network, config = make(heard, **kinds)
    config.set_option("backend", backend)
    plan = builder.build_serialized_network(network, config)
    assert plan is not None, heard.lines
    return trt.Runtime(heard).deserialize_cuda_engine(plan)


class OnDevice:
    """What another package's array of a device looks like."""

    def __init__(self, engine, array, strides=None):
        self.memory, self.array, self.strides = trt.to_device(engine, array), array, strides

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.array.shape, "typestr": self.array.dtype.str, "data": (self.memory.address, False), "strides": self.strides,
                "version": 3}


class OnHost:
    """An array that has DLPack and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("backend", BACKENDS)
def test_numpy_and_engines_and_streams(x, backend):
    engine = load(backend, dynamic=True, data_dependent=True)
    for made in (engine.create_execution_context(), engine):
        for stream in (0, type("OfTorch", (), {"cuda_stream": 0})(), type("OfCupy", (), {"ptr": 0})(),
                       type("Protocol", (), {"__cuda_stream__": lambda self: (0, 0)})(), type("Binding", (), {"__int__": lambda self: 0})()):
            results = trt.infer(made, {"x": x}, stream)
            np.testing.assert_allclose(results["y"], want(x), **TOLERANCE)
            np.testing.assert_array_equal(results["kept"], np.stack(np.nonzero(x > 0)))
    context = engine.create_execution_context()
    for bad in ("0", 0.0, None, object()):
        with pytest.raises(TypeError):
            context.execute_async_v3(bad)
        with pytest.raises(TypeError):
            trt.infer(context, {"x": x}, bad)
    wide = np.random.default_rng(SEED).standard_normal((SHAPE[0], 2 * SHAPE[1])).astype(np.float32)
    np.testing.assert_allclose(trt.infer(context, {"x": wide[:, ::2]})["y"], want(wide[:, ::2]), **TOLERANCE)  # the host's are copied
    np.testing.assert_allclose(trt.infer(context, {"x": OnHost(x)})["y"], want(x), **TOLERANCE)
    np.testing.assert_allclose(trt.infer(context, {"x": x[:1]})["y"], want(x[:1]), **TOLERANCE)


@pytest.mark.parametrize("backend", BACKENDS)
def test_arrays_of_the_device(x, backend):
    engine = load(backend)
    context = engine.create_execution_context()
    there = OnDevice(engine, x)
    if not engine.on_device:
        with pytest.raises(ValueError, match="input 'x': the array is in memory of a device"):
            trt.infer(context, {"x": there})
        return
    y = trt.infer(context, {"x": there})["y"]
    assert isinstance(y, trt.DeviceArray) and y.shape == SHAPE and y.dtype == np.float32 and y.nbytes == x.nbytes
    np.testing.assert_allclose(y.numpy(), want(x), **TOLERANCE)
    assert y.__cuda_array_interface__["data"][0] == y.address and y.__dlpack_device__() == (2, engine.device)
    assert "dltensor" in repr(y.__dlpack__())
    again = trt.infer(context, {"x": y})["y"]  # what came out goes in as it is
    np.testing.assert_allclose(again.numpy(), want(want(x)), **TOLERANCE)
    np.testing.assert_allclose(y.numpy(), want(x), **TOLERANCE)  # and is no one else's
    same = OnDevice(engine, x, (SHAPE[1] * 4, 4))
    np.testing.assert_allclose(trt.infer(context, {"x": same})["y"].numpy(), want(x), **TOLERANCE)
    with pytest.raises(ValueError, match=r"input 'x': the strides are \(1, 2\) elements for the shape \(2, 6\).* contiguous copy"):
        trt.infer(context, {"x": OnDevice(engine, x, (4, 8))})
    with pytest.raises(ValueError, match="input 'x': dtype float64"):
        trt.infer(context, {"x": OnDevice(engine, x.astype(np.float64))})
    dynamic = load(backend, data_dependent=True)
    results = trt.infer(dynamic, {"x": OnDevice(dynamic, x)})
    np.testing.assert_array_equal(results["kept"].numpy(), np.stack(np.nonzero(x > 0)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_inferences_that_are_awaited(x, backend):
    engine = load(backend)

    async def one(context, factor, times):
        for _ in range(times):
            np.testing.assert_allclose((await context.infer_async({"x": factor * x}))["y"], want(factor * x), **TOLERANCE)

    async def everything():
        contexts = [engine.create_execution_context() for _ in range(2)]
        await asyncio.gather(*(one(context, np.float32(i + 1), 5) for i, context in enumerate(contexts)))
        with pytest.raises(ValueError, match="no input named"):
            await contexts[0].infer_async({"x": x, "z": x})
        await one(contexts[0], np.float32(1), 1)

    asyncio.run(everything())
