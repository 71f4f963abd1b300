"""Memory of an engine's device, with numpy."""
import numpy as np

from ._wootz import DeviceMemory


def _bytes_of(array):
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _write(self, source, offset=0):
    """Copies an array, or other memory of the device, to here; done when this returns. Raises ValueError where it does not fit."""
    self._write(source if isinstance(source, DeviceMemory) else _bytes_of(source), offset)


def _read(self, dtype, shape, offset=0):
    """An array of what is here now, after all earlier work of the default stream; see also engine.synchronize()."""
    array = np.empty(shape, dtype)
    if array.size:
        self._read(array.reshape(-1).view(np.uint8), offset)
    return array


def to_device(engine, array):
    """New memory of the engine's device that holds an array's elements."""
    data = _bytes_of(array)
    memory = DeviceMemory(engine, data.size)
    memory._write(data, 0)
    return memory


def read_memory(engine, address, dtype, shape, stream=0):
    """An array of what is at an address that the library handed out (to an IDebugListener, or an IOutputAllocator of one's own).

    `stream`: waited for first.
    """
    array = np.empty(shape, dtype)
    engine.synchronize(stream)
    if array.size:
        engine._read(array.reshape(-1).view(np.uint8), address)
    return array


def _free_at_end(self, *_):
    self.free()


DeviceMemory.write, DeviceMemory.read = _write, _read
DeviceMemory.__enter__, DeviceMemory.__exit__ = lambda self: self, _free_at_end
