"""Sentences by meaning: the encoder all-MiniLM-L6-v2 from its weights, as an ONNX model written here."""
import json
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

QUERY = "How do I make my neural network run faster?"
SENTENCES = ["Speeding up inference of a trained model", "A recipe for apple pie with cinnamon", "The optimizer fuses layers and picks quick kernels",
             "Our train to Vienna was delayed by an hour", "Latency dropped after we tuned the network", "Cats sleep for most of the day"]


class Model:
    """Adds nodes and initializers; every method gives the name of its result."""

    def __init__(self, weights):
        self.weights, self.nodes, self.initializers, self.count = weights, [], {}, 0

    def weight(self, name, array=None):
        if name not in self.initializers:
            self.initializers[name] = numpy_helper.from_array(np.ascontiguousarray(self.weights[name] if array is None else array), name)
        return name

    def op(self, kind, *inputs, **attributes):
        self.count += 1
        output = f"{kind}_{self.count}"
        self.nodes.append(helper.make_node(kind, list(inputs), [output], name=output, **attributes))
        return output

    def constant(self, value, dtype=np.float32):
        name = f"const_{np.dtype(dtype).name}_{value}"
        return self.weight(name, np.array(value, dtype))

    def linear(self, x, prefix):
        w = self.weight(prefix + ".weight.T", self.weights[prefix + ".weight"].T)
        return self.op("Add", self.op("MatMul", x, w), self.weight(prefix + ".bias"))

    def norm(self, x, prefix):
        return self.op("LayerNormalization", x, self.weight(prefix + ".weight"), self.weight(prefix + ".bias"), axis=-1, epsilon=1e-12)


def make_encoder(folder, path):
    """Writes the ONNX model: input_ids and attention_mask [batch, seq] -> embedding [batch, 384], of unit length."""
    config = json.loads((pathlib.Path(folder) / "config.json").read_text())
    heads, hidden = config["num_attention_heads"], config["hidden_size"]
    m = Model(load_file(str(pathlib.Path(folder) / "model.safetensors")))
    ids, mask = "input_ids", "attention_mask"
    sequence = m.op("Gather", m.op("Shape", ids), m.weight("one", np.array([1], np.int64)), axis=0)
    positions = m.op("Slice", m.weight("embeddings.position_embeddings.weight"), m.weight("zero", np.array([0], np.int64)), sequence,
                     m.weight("zero"))
    kind = m.weight("token_type_0", m.weights["embeddings.token_type_embeddings.weight"][0])
    x = m.op("Add", m.op("Add", m.op("Gather", m.weight("embeddings.word_embeddings.weight"), ids), positions), kind)
    x = m.norm(x, "embeddings.LayerNorm")
    wide = m.op("Cast", mask, to=TensorProto.FLOAT)
    hidden_keys = m.op("Mul", m.op("Sub", m.constant(1.0), m.op("Unsqueeze", wide, m.weight("axes12", np.array([1, 2], np.int64)))), m.constant(-1e9))
    split = m.weight("split", np.array([0, 0, heads, hidden // heads], np.int64))
    merge = m.weight("merge", np.array([0, 0, hidden], np.int64))
    for layer in range(config["num_hidden_layers"]):
        p = f"encoder.layer.{layer}."
        q, k, v = (m.op("Reshape", m.linear(x, p + f"attention.self.{n}"), split) for n in ("query", "key", "value"))
        q, v = m.op("Transpose", q, perm=[0, 2, 1, 3]), m.op("Transpose", v, perm=[0, 2, 1, 3])
        scores = m.op("Mul", m.op("MatMul", q, m.op("Transpose", k, perm=[0, 2, 3, 1])), m.constant(float((hidden // heads) ** -0.5)))
        context = m.op("MatMul", m.op("Softmax", m.op("Add", scores, hidden_keys), axis=-1), v)
        context = m.op("Reshape", m.op("Transpose", context, perm=[0, 2, 1, 3]), merge)
        x = m.norm(m.op("Add", m.linear(context, p + "attention.output.dense"), x), p + "attention.output.LayerNorm")
        h = m.linear(x, p + "intermediate.dense")
        gate = m.op("Add", m.op("Erf", m.op("Div", h, m.constant(float(np.sqrt(2))))), m.constant(1.0))
        h = m.op("Mul", m.op("Mul", h, gate), m.constant(0.5))
        x = m.norm(m.op("Add", m.linear(h, p + "output.dense"), x), p + "output.LayerNorm")
    weights = m.op("Unsqueeze", wide, m.weight("axis2", np.array([2], np.int64)))
    total = m.op("ReduceSum", m.op("Mul", x, weights), m.weight("one"), keepdims=0)
    mean = m.op("Div", total, m.op("ReduceSum", weights, m.weight("one"), keepdims=0))
    m.nodes.append(helper.make_node("Div", [mean, m.op("ReduceL2", mean, m.weight("one"), keepdims=1)], ["embedding"]))
    graph = helper.make_graph(m.nodes, "all-MiniLM-L6-v2", [helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "seq"]) for n in (ids, mask)],
                              [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", hidden])], list(m.initializers.values()))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), str(path))


def tokenize(folder, texts):
    """{"input_ids", "attention_mask"} of the texts, padded to the longest."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(pathlib.Path(folder) / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(128)
    encoded = [tokenizer.encode(t).ids for t in texts]
    length = max(map(len, encoded))
    ids = np.array([e + [0] * (length - len(e)) for e in encoded], np.int64)
    mask = np.array([[1] * len(e) + [0] * (length - len(e)) for e in encoded], np.int64)
    return {"input_ids": ids, "attention_mask": mask}
