"""# A decoder with a cache of keys and values

A transformer that writes one token after the other, in two forms of one model:

- **without a cache** each step gets the whole sequence so far and computes all of it anew;
- **with a cache** each step gets one token. Keys and values of the earlier ones lie in memory that each layer has as an input *and* as an output
  (ONNX's `TensorScatter`, TensorRT's `addKVCacheUpdate`): both get the same address, so a step writes the one row that is new, and nothing is copied.
  `engine.get_aliased_input_tensor` says which belong together.

The prompt goes through the second form too, as one call with many tokens: the number of tokens is an open extent of the plan.

Weights are random, since what is shown is time and memory, not prose; so are the draws of tokens, from one seed. Both forms have to write the same
tokens, and their scores have to agree with each other and with ONNX Runtime.

**What to look at:** without a cache a token takes longer the longer the sequence is; with one it takes nearly the same time always. Attention still
goes over all places of the cache, those that are empty included, which a mask leaves out.
"""
import time

import numpy as np
from onnx import TensorProto

import common
import wootz
from search import Model  # adds nodes and weights

LAYERS, HEADS, SIZE, WIDTH, TOKENS = 4, 4, 64, 256, 256
PROMPT = 8


def random_weights(places):
    random = np.random.default_rng(11)
    shapes = {"tokens": (TOKENS, WIDTH), "places": (places, WIDTH)}
    for i in range(LAYERS):
        shapes |= {f"{i}.{name}.weight": (rows, columns) for name, rows, columns in
                   (("q", WIDTH, WIDTH), ("k", WIDTH, WIDTH), ("v", WIDTH, WIDTH), ("out", WIDTH, WIDTH), ("up", 4 * WIDTH, WIDTH), ("down", WIDTH, 4 * WIDTH))}
    weights = {name: random.standard_normal(shape, np.float32) / np.sqrt(shape[-1], dtype=np.float32) for name, shape in shapes.items()}
    weights |= {name.replace("weight", "bias"): np.zeros(len(w), np.float32) for name, w in weights.items() if name.endswith("weight")}
    norms = [f"{i}.norm{j}" for i in range(LAYERS) for j in (1, 2)] + ["norm"]
    return weights | {f"{n}.weight": np.ones(WIDTH, np.float32) for n in norms} | {f"{n}.bias": np.zeros(WIDTH, np.float32) for n in norms}


def decoder(weights, places, cached):
    """The ONNX model: tokens and their positions [1, n] to the scores of the next token."""
    m = Model(weights)
    ints = lambda name, *values: m.weight(name, np.array(values, np.int64))
    x = m.op("Add", m.op("Gather", m.weight("tokens"), "ids"), m.op("Gather", m.weight("places"), "positions"))
    keys = m.weight("range", np.arange(places)[None, None]) if cached else m.op("Unsqueeze", "positions", ints("one", 1))
    seen = m.op("LessOrEqual", keys, m.op("Unsqueeze", "positions", ints("two", 2)))
    mask = m.op("Unsqueeze", m.op("Where", seen, m.constant(0.0), m.constant(-1e9)), ints("one", 1))
    first = m.op("Gather", "positions", m.weight("zero", np.array(0, np.int64)), axis=1)
    split, merge = ints("split", 0, 0, HEADS, SIZE), ints("merge", 0, 0, WIDTH)
    caches = {}
    for i in range(LAYERS):
        n = m.norm(x, f"{i}.norm1")
        q, k, v = (m.op("Transpose", m.op("Reshape", m.linear(n, f"{i}.{name}"), split), perm=[0, 2, 1, 3]) for name in "qkv")
        if cached:
            k, v = (m.op("TensorScatter", f"{name}{i}", new, first, axis=2) for name, new in (("k", k), ("v", v)))
            caches |= {f"k{i}": k, f"v{i}": v}
        scores = m.op("Mul", m.op("MatMul", q, m.op("Transpose", k, perm=[0, 1, 3, 2])), m.constant(float(SIZE**-0.5)))
        y = m.op("MatMul", m.op("Softmax", m.op("Add", scores, mask), axis=-1), v)
        x = m.op("Add", m.linear(m.op("Reshape", m.op("Transpose", y, perm=[0, 2, 1, 3]), merge), f"{i}.out"), x)
        x = m.op("Add", m.linear(m.op("Gelu", m.linear(m.norm(x, f"{i}.norm2"), f"{i}.up")), f"{i}.down"), x)
    last = m.op("Gather", m.norm(x, "norm"), m.weight("last", np.array(-1, np.int64)), axis=1)
    scores = m.op("MatMul", last, m.weight("tokens.T", weights["tokens"].T))
    cache = [1, HEADS, places, SIZE]
    inputs = {"ids": (TensorProto.INT64, [1, "n"]), "positions": (TensorProto.INT64, [1, "n"]), **{name: cache for name in caches}}
    return common.model(m.nodes, inputs, {scores: [1, TOKENS], **{name: cache for name in caches.values()}}, m.initializers, opset=24), scores


class Cached:
    """A context whose caches stay where they are from step to step."""

    def __init__(self, engine, scores):
        self.engine, self.context, self.scores = engine, engine.create_execution_context(), scores
        names = [engine.get_tensor_name(i) for i in range(engine.num_io_tensors)]
        self.memory = {name: wootz.DeviceMemory(engine, 8 * TOKENS) for name in ("ids", "positions", scores)}
        self.bytes = 0
        for name in names:
            target = engine.get_aliased_input_tensor(name)
            if target:
                self.memory[name] = self.memory[target] = wootz.to_device(engine, np.zeros(tuple(engine.get_tensor_shape(name)), np.float32))
                self.bytes += self.memory[name].nbytes
        for name, memory in self.memory.items():
            self.context.set_tensor_address(name, memory)

    def __call__(self, ids, positions):
        for name, values in (("ids", ids), ("positions", positions)):
            self.context.set_input_shape(name, values.shape)
            self.memory[name].write(values)
        common.expect(self.context.execute_async_v3(0), "the step runs")
        self.engine.synchronize()
        return self.memory[self.scores].read(np.float32, (1, TOKENS))


def write(step, length, whole):
    """Tokens after a prompt, the scores, and the milliseconds of each. `whole`: each step is given everything."""
    draws = np.random.default_rng(5).gumbel(size=(length, TOKENS))
    ids, scores, times = list(range(1, PROMPT + 1)), [], []
    while len(ids) < length:
        start = 0 if whole or not times else len(ids) - 1
        began = time.perf_counter()
        scores.append(step(np.array([ids[start:]]), np.arange(start, len(ids))[None]))
        times.append((time.perf_counter() - began) * 1e3)
        ids.append(int((scores[-1][0] + draws[len(ids)]).argmax()))
    return ids[PROMPT:], np.concatenate(scores), np.array(times)


def picture(length, plain, cached, path):
    page = common.Picture(1000, 400)
    top = np.quantile(plain, 0.98) * 1.15
    plot = common.Plot(page, (80, 50, 880, 280), (PROMPT, length), (0, top), "Time of a token", "tokens before it", "milliseconds")
    xs = np.arange(PROMPT, length)
    for colour, label, times in ((1, f"without a cache: {len(plain) / plain.sum() * 1e3:.0f} tokens a second", plain),
                                 (0, f"with a cache: {len(cached) / cached.sum() * 1e3:.0f} tokens a second", cached)):
        plot.curve(xs, np.minimum(times, top), colour, label)
    page.save(path)


def main():
    chosen = common.arguments()
    length = 32 if chosen.quick else TOKENS
    weights = random_weights(length)
    plain_model, plain_scores = decoder(weights, length, cached=False)
    cached_model, scores = decoder(weights, length, cached=True)
    fit = {name: ((1, 1), (1, length // 2), (1, length)) for name in ("ids", "positions")}
    one = {name: ((1, 1), (1, 1), (1, PROMPT)) for name in ("ids", "positions")}
    plain = common.load(wootz.build(plain_model, shapes=fit, options=chosen.options)).create_execution_context()
    cached = Cached(common.load(wootz.build(cached_model, shapes=one, options=chosen.options)), scores)
    ids, exact, slow = write(lambda i, p: wootz.infer(plain, {"ids": i, "positions": p})[plain_scores], length, True)
    again, close, quick = write(cached, length, False)
    common.expect(ids == again, "both forms write the same tokens")
    between = common.agree(close, exact, "scores with a cache", 1e-3)
    whole = np.array([[*range(1, PROMPT + 1), *ids[:-1]]])
    theirs = common.onnxruntime_session(plain_model).run(None, {"ids": whole, "positions": np.arange(whole.shape[1])[None]})[0]
    beside = common.agree(exact[-1:], theirs, "scores beside ONNX Runtime", 1e-3)
    print(f"{len(ids)} tokens, the same with and without a cache; scores differ by {between:.1g}, from ONNX Runtime by {beside:.1g}")
    print(f"without a cache {len(slow) / slow.sum() * 1e3:.0f} tokens a second, with one {len(quick) / quick.sum() * 1e3:.0f}; it takes {cached.bytes / 1e6:.1f} MB")
    picture(length, slow, quick, chosen.out / "decoder.svg")


if __name__ == "__main__":
    main()
