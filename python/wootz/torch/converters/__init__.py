"""What each aten operation becomes: a table from operations to functions on a Writer, a file for each kind of operation."""
import importlib

import torch

TABLE = {}  # operation -> converter(writer, *args, **kwargs) -> ITensor, or a tuple of them
_FILES = ("pointwise", "reductions", "shapes", "moves", "products", "convolutions", "norms", "attention", "indexing", "pooling", "resize",
          "sources")


def converts(*names):
    """Puts a function into the table, for the aten operations of these names ("add.Tensor")."""

    def put(function):
        for name in names:
            packet, _, overload = name.partition(".")
            found = getattr(getattr(torch.ops.aten, packet, None), overload or "default", None)
            if found is not None:  # another version of torch may lack it
                TABLE[found] = function
        return function

    return put


def _fill():
    for name in _FILES:
        importlib.import_module(f"{__name__}.{name}")


_fill()
