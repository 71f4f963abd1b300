"""CUDA's runtime: the package cuda-python where it is installed. Where CUDART_LIBRARY names a library, which on a machine without a GPU is
libwootz_hostcuda (docs/hostcuda.md), and where there is no such package, the same calls by ctypes.

Programs for GPUs alone write `from cuda.bindings import runtime as cudart` in the place of `import cudart`.
"""
import importlib.util
import os

ON_HOST = "CUDART_LIBRARY" in os.environ  # what is told to be the device's memory is the host's

if not ON_HOST and importlib.util.find_spec("cuda") and importlib.util.find_spec("cuda.bindings"):
    from cuda.bindings.runtime import *  # noqa: F403
else:
    from cudart_ctypes import *  # noqa: F403
