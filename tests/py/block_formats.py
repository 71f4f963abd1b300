"""Models whose weights are floats of 4 and 8 bits in blocks, as numpy reads them."""
import numpy as np
import onnx
from onnx import helper, numpy_helper

BLOCKS = {"nvfp4": 16, "mxfp8": 32}


def in_floats(model, path):
    """The model with the weights that its DequantizeLinear nodes of constants bring back, by numpy; and these."""
    proto = onnx.load(model)
    known = {t.name: numpy_helper.to_array(t) for t in proto.graph.initializer}
    made, nodes = {}, []
    for node in proto.graph.node:
        if node.op_type != "DequantizeLinear" or node.input[0] not in known:
            nodes.append(node)
            continue
        how = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        scale = known[node.input[1]].astype(np.float32)
        if "block_size" in how:
            scale = np.repeat(scale, how["block_size"], axis=how["axis"])
        known[node.output[0]] = made[node.output[0]] = known[node.input[0]].astype(np.float32) * scale
    used = {i for node in nodes for i in node.input}
    kept = [t for t in proto.graph.initializer if t.name in used] + [numpy_helper.from_array(v, n) for n, v in made.items() if n in used]
    graph = helper.make_graph(nodes, "in_floats", proto.graph.input, proto.graph.output, kept)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10), path)
    return str(path), made
