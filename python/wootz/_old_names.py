"""Names of TensorRT's earlier versions that programs still use, at level 10."""
from . import _wootz


def _execute_async_v2(self, bindings, stream_handle=0, input_consumed=None):
    """Runs with addresses in the order of the engine's tensors, on a stream: as it was called before execute_async_v3."""
    engine = self.engine
    if len(bindings) != engine.num_io_tensors:
        raise ValueError(f"the engine has {engine.num_io_tensors} inputs and outputs, {len(bindings)} addresses given")
    if input_consumed is not None:
        self.set_input_consumed_event(input_consumed)
    for number, address in enumerate(bindings):
        if not self.set_tensor_address(engine.get_tensor_name(number), address):
            return False
    return self.execute_async_v3(stream_handle)


if _wootz.__tensorrt_version__[0] == 10:
    _wootz.IExecutionContext.execute_async_v2 = _execute_async_v2
