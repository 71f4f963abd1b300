"""wootz.kernel: a plugin of one function in C, for the CPU, or in CUDA C++, for a GPU."""
import functools
import inspect
import math
import os
import re
import shutil
import subprocess
import tempfile

from . import _wootz, plugin as trtp
from ._nvrtc import compile_source
from ._plugins import PluginFieldCollection
from .plugin._quick import AotPlugin, HostPlugin
from .plugin._register import Plugin, PluginCall


class _Inputs:
    """What a kernel has of a signature: inputs, and no attributes."""

    attributes, outputs, defaults = {}, None, {}

    def __init__(self, names):
        self.inputs = names


def _listed(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


@functools.lru_cache(maxsize=64)
def _library(source, options):
    """A shared library of C, as bytes."""
    compiler = os.environ.get("CC") or next((c for c in ("cc", "gcc", "clang") if shutil.which(c)), None)
    if compiler is None:
        raise RuntimeError("a kernel in C needs a C compiler, and there is no cc, gcc or clang on the PATH")
    with tempfile.TemporaryDirectory() as folder:
        made = os.path.join(folder, "kernel.so")
        done = subprocess.run([*compiler.split(), "-x", "c", "-", "-O3", "-fPIC", "-shared", "-o", made, *options, "-lm"], input=source,
                              capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{compiler} refuses the kernel:\n{done.stderr}")
        with open(made, "rb") as file:
            return file.read()


class Kernel(Plugin):
    """A plugin of one function. Called with tensors, it gives what INetworkDefinition.add_plugin takes."""

    def __init__(self, name, source, outputs, inputs, arguments, grid, block, options):  # noqa: PLR0913: what kernel() is given
        if name.count("::") != 1:
            raise ValueError(f"'{name}' is no name: namespace::function is wanted")
        self.id = name
        self.namespace, self.name = name.split("::")
        self.function = outputs or (lambda *descs: descs[0].like())
        names = list(inspect.signature(self.function).parameters) if outputs else [f"x{i}" for i in range(inputs)]
        self.signature = _Inputs(names)
        self.sources = dict(source) if isinstance(source, dict) else {"cuda" if "__global__" in source else "cpu": source}
        if not self.sources or not set(self.sources) <= {"cpu", "cuda"}:
            raise ValueError(f"{name}: sources are of 'cpu' (C) and 'cuda' (CUDA C++), given are {sorted(self.sources)}")
        self.arguments, self.grid, self.block, self.options = arguments, grid, block, tuple(options)
        self.autotune = self.impl = self.aot_impl = self.creator = None
        self.backend = None

    def __call__(self, *tensors, backend=None):
        if len(tensors) != len(self.signature.inputs):
            raise TypeError(f"{self.id}: {len(tensors)} inputs, {len(self.signature.inputs)} are wanted")
        return PluginCall((list(tensors), {}, self._for(backend or self._usual())))

    def _usual(self):
        """The backend of a build that names none, where there is a source for it; otherwise the one that there is a source for."""
        usual = _wootz.default_backend()[0]
        return usual if usual in self.sources else next(iter(self.sources))

    def _for(self, backend):
        if backend not in self.sources:
            raise ValueError(f"{self.id} has no source for the backend '{backend}'")
        made = Kernel.__new__(Kernel)
        made.__dict__.update(self.__dict__, backend=backend)
        if backend == "cpu":
            made._code()  # whose faults are the caller's
        return made

    def describe(self, inputs, attributes):
        made = self.function(*inputs)
        return _listed(made)

    def complete(self, values):
        return {}

    def fields(self, attributes):
        return PluginFieldCollection()

    def form(self, request):
        return HostPlugin if (self.backend or self._usual()) == "cpu" else AotPlugin

    def _code(self):
        source = self.sources[self.backend or self._usual()]
        if not re.search(rf"\b{self.name}\s*\(", source):
            raise ValueError(f"{self.id}: there is no function '{self.name}' in the source")
        if (self.backend or self._usual()) == "cpu":
            return self.name, _library(source, self.options)
        entry = re.sub(rf'(extern\s+"C"\s+)?__global__(.*?)\b{self.name}\s*\(', r'extern "C" __global__\2wootz_kernel(', source, count=1, flags=re.S)
        return "wootz_kernel", compile_source(entry, options=self.options)

    def compile(self, inputs, attributes, more):
        """The function, its code, its launch, and the arguments between inputs and outputs."""
        count = more["outputs"][0].shape_expr.numel()
        extra = trtp.SymIntExprs.from_tuple(_listed(count if self.arguments is None else self.arguments(*inputs)))
        block = _listed(self.block)
        grid = _listed(trtp.cdiv(count, math.prod(block)) if self.grid is None else self.grid(*inputs))
        launch = trtp.KernelLaunchParams(**dict(zip(("grid_x", "grid_y", "grid_z"), grid)), **dict(zip(("block_x", "block_y", "block_z"), block)))
        return *self._code(), launch, extra
