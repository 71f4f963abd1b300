"""Plans on disk, by a digest of all that they depend on."""
import functools
import hashlib
import os
import pathlib
import tempfile

import torch

from .. import _wootz
from ._types import tf32_of_torch


@functools.lru_cache(None)
def _software():
    """The library and this package, as they are now: another build of either makes other plans."""
    digest = hashlib.blake2b()
    for path in sorted(pathlib.Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    library = os.stat(_wootz.__file__)
    digest.update(repr((library.st_size, library.st_mtime_ns, torch.__version__, _wootz.__tensorrt_version__)).encode())
    return digest.digest()


@functools.lru_cache(None)
def _machine(device_type, index):
    if device_type == "cuda":
        return repr((torch.cuda.get_device_name(index), torch.cuda.get_device_capability(index), torch.version.cuda))
    return _wootz._machine()


def digest_of(graph, constants, ranges, device, options):
    """The name of a plan: hexadecimal digits."""
    digest = hashlib.blake2b(digest_size=20)
    settings = tf32_of_torch() if device.type == "cuda" else ()
    for part in (_software(), _machine(device.type, device.index or 0), options.built_with(), settings, ranges, str(device.type)):
        digest.update(part if isinstance(part, bytes) else repr(part).encode())
    for node in graph.nodes:
        value = node.meta.get("val")
        digest.update(repr((node.op, str(node.target), node.args, node.kwargs)).encode())
        digest.update(repr((tuple(map(str, value.shape)), value.dtype) if isinstance(value, torch.Tensor) else str(value)).encode())
    for node, tensor in constants.items():
        digest.update(f"{node.name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


class Store:
    """A folder of plans and a timing cache; with no folder, it keeps nothing."""

    def __init__(self, folder):
        self.folder = None if folder is None else pathlib.Path(folder)

    def plan(self, digest):
        """The path of a plan that is there, or None."""
        path = None if self.folder is None else self.folder / f"{digest}.plan"
        return path if path is not None and path.exists() else None

    def read(self, name):
        path = None if self.folder is None else self.folder / name
        return path.read_bytes() if path is not None and path.exists() else b""

    def write(self, name, data):
        """Whole or not at all: other processes may read and write the same."""
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        handle, path = tempfile.mkstemp(dir=self.folder)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(path, self.folder / name)
