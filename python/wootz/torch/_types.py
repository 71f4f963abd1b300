"""Element types of torch and of the network."""
import torch

from .._wootz import DataType

_TO_NETWORK = {
    torch.float32: DataType.FLOAT, torch.float16: DataType.HALF, torch.bfloat16: DataType.BF16, torch.int64: DataType.INT64,
    torch.int32: DataType.INT32, torch.int8: DataType.INT8, torch.uint8: DataType.UINT8, torch.bool: DataType.BOOL,
}
_TO_TORCH = {network: dtype for dtype, network in _TO_NETWORK.items()}
FLOATS = (torch.float32, torch.float16, torch.bfloat16)


class Unsupported(Exception):
    """An operation, or a way to use it, that stays with torch; the message says why."""


def to_network(dtype):
    """The network's type of a torch dtype."""
    if dtype not in _TO_NETWORK:
        raise Unsupported(f"type {str(dtype).removeprefix('torch.')}")
    return _TO_NETWORK[dtype]


def to_torch(data_type):
    """The torch dtype of a network's type."""
    return _TO_TORCH[data_type]
