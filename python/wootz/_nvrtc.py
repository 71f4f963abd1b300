"""NVRTC, for kernels that plugins bring as CUDA C++."""
import ctypes
import os
import sys

from ._libraries import package_folders

_NAMES = ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so")


def _library():
    from ._build import backend_libraries
    backend_libraries("cuda")  # which opens it where the library finds one: then it has its name here, too
    for place in ["", *package_folders(sys.path)]:
        for name in _NAMES:
            try:
                return ctypes.CDLL(os.path.join(place, name))
            except OSError:
                continue
    raise RuntimeError(f"a kernel in CUDA C++ needs NVRTC ({_NAMES[0]}), which is not there: install the CUDA toolkit, or the package nvidia-cuda-nvrtc")


def _architecture():
    from . import devices
    for backend in devices()["backends"]:
        if backend["backend"] == "cuda" and "compute_capability" in backend:
            return "compute_" + backend["compute_capability"].replace(".", "")
    return "compute_80"  # the least that there are kernels for


def compile_source(source, architecture=None, options=()):
    """PTX of CUDA C++, as bytes, for an architecture ("compute_90"; by default that of the GPU here). Raises RuntimeError with NVRTC's messages."""
    nvrtc = _library()
    program = ctypes.c_void_p()
    if nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"plugin.cu", 0, None, None):
        raise RuntimeError("NVRTC makes no program")
    try:
        given = [f"--gpu-architecture={architecture or _architecture()}", "--std=c++17", *options]
        failed = nvrtc.nvrtcCompileProgram(program, len(given), (ctypes.c_char_p * len(given))(*(o.encode() for o in given)))
        if failed:
            raise RuntimeError("NVRTC refuses the kernel:\n" + _read(nvrtc, program, "ProgramLog").decode(errors="replace"))
        # The emulator's has machine code alone.
        return _read(nvrtc, program, "PTX" if hasattr(nvrtc, "nvrtcGetPTX") else "CUBIN")
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _read(nvrtc, program, what):
    size = ctypes.c_size_t()
    if getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size)) or not size.value:
        return b""
    text = ctypes.create_string_buffer(size.value)
    if getattr(nvrtc, f"nvrtcGet{what}")(program, text):
        raise RuntimeError(f"NVRTC gives no {what}")
    return text.raw.rstrip(b"\0")
