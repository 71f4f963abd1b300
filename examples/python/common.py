"""What the programs share: errors of CUDA's as exceptions, buffers of an engine, one inference, arrays in the device's memory."""
import contextlib
import ctypes

import cudart
import numpy as np
import tensorrt as trt

LOGGER = trt.Logger(trt.Logger.WARNING)
TO_DEVICE, TO_HOST = cudart.cudaMemcpyKind.cudaMemcpyHostToDevice, cudart.cudaMemcpyKind.cudaMemcpyDeviceToHost


def check(call):
    """What a call of CUDA's returned, without the error, which is raised."""
    error, values = call[0], call[1:]
    if error != cudart.cudaError_t.cudaSuccess:
        raise RuntimeError(f"CUDA: {error!r}")
    return values[0] if values else None


class Buffers:
    """An array on the host and memory on the device for each tensor that a context reads or writes."""

    def __init__(self, engine, context):
        self.host, self.device = {}, {}
        self.stream = check(cudart.cudaStreamCreate())
        self.inputs = []
        for i in range(engine.num_io_tensors):
            name = engine.get_tensor_name(i)
            shape = tuple(context.get_tensor_shape(name))
            array = np.zeros(shape, trt.nptype(engine.get_tensor_dtype(name)))
            self.host[name] = array
            self.device[name] = check(cudart.cudaMalloc(max(array.nbytes, 1)))
            context.set_tensor_address(name, self.device[name])
            if engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT:
                self.inputs.append(name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        check(cudart.cudaStreamSynchronize(self.stream))
        for memory in self.device.values():
            check(cudart.cudaFree(memory))
        check(cudart.cudaStreamDestroy(self.stream))

    def copy_in(self):
        for name in self.inputs:
            array = self.host[name]
            check(cudart.cudaMemcpyAsync(self.device[name], array.ctypes.data, array.nbytes, TO_DEVICE, self.stream))

    def copy_out(self):
        for name, array in self.host.items():
            if name not in self.inputs:
                check(cudart.cudaMemcpyAsync(array.ctypes.data, self.device[name], array.nbytes, TO_HOST, self.stream))

    def infer(self, context, **feeds):
        """Runs once and returns the outputs by name."""
        for name, value in feeds.items():
            np.copyto(self.host[name], value)
        self.copy_in()
        if not context.execute_async_v3(self.stream):
            raise RuntimeError("the inference was refused")
        self.copy_out()
        check(cudart.cudaStreamSynchronize(self.stream))
        return {name: array for name, array in self.host.items() if name not in self.inputs}


def expect(got, wanted, what, tolerance=1e-4 if cudart.ON_HOST else 2e-3):  # a GPU multiplies 32-bit floats in TF32
    """Ends the program with a reason where numbers differ."""
    scale = np.abs(wanted).max() or 1.0
    worst = np.abs(np.asarray(got, np.float64) - wanted).max() / scale
    if not worst <= tolerance:
        raise SystemExit(f"{what}: differs by {worst:g} of the scale")
    print(f"{what}: right (differs by {worst:.1g})")


@contextlib.contextmanager
def device_arrays(stream):
    """The package whose arrays are in the device's memory, with what it computes on the stream: cupy, and numpy on the processor."""
    if cudart.ON_HOST:
        yield np
    else:
        import cupy

        with cupy.cuda.ExternalStream(stream):
            yield cupy


def array_at(address, shape):
    """An array of 32-bit floats that are at an address in the device's memory."""
    shape = tuple(shape)
    if cudart.ON_HOST:
        return np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_float)), shape)
    import cupy

    memory = cupy.cuda.UnownedMemory(address, 4 * int(np.prod(shape)), None)
    return cupy.ndarray(shape, np.float32, cupy.cuda.MemoryPointer(memory, 0))
