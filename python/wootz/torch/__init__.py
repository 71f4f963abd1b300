"""torch's models on Wootz: torch.compile(model, backend="wootz"), and modules that are compiled ahead of time.

Importing this registers the backend. See docs/torch.md.
"""
from ._backend import wootz_backend  # noqa: F401: registers it
from ._partition import statistics  # noqa: F401
from ._module import Module, compile, export, load  # noqa: A004,F401
from ._types import Unsupported  # noqa: F401
