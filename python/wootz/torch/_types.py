"""Element types of torch and of the network."""
import torch

from .._wootz import DataType, LayerType

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


def tf32_of_torch():
    """Whether torch lets a GPU round what FP32 (convolutions, products) multiply to TF32."""
    return tuple(kind.fp32_precision == "tf32" for kind in (torch.backends.cudnn.conv, torch.backends.cuda.matmul))


def may_round(network):
    """Whether the engine of a network may use TF32: where torch allows it for all kinds of layers that are there, since an engine has one setting."""
    convolutions, products = tf32_of_torch()
    types = {network.get_layer(i).type for i in range(network.num_layers)}
    others = types & {LayerType.MATRIX_MULTIPLY, LayerType.ATTENTION_INPUT, LayerType.ATTENTION_OUTPUT}
    return (convolutions or not types & {LayerType.CONVOLUTION, LayerType.DECONVOLUTION}) and (products or not others)
