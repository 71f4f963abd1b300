"""Caches of keys and values in 8 bits: a decoder's layer writes its new rows rounded, and attention reads the 8 bits."""
import json
import math

import ml_dtypes
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

import test_transformers
import wootz
from test_transformers import B, D, E, H, Net

HKV = 2
EKV = HKV * D
SCALE = {"k": 0.02, "v": 0.025}
OPSET = 19


class Decoder(Net):
    """x [B, rows, E] and caches [B, HKV, past, D]; rows are rounded to `kind` by one scale, or by one a head."""

    def __init__(self, kind, by_head=False, grouped="expand"):
        super().__init__(seed=7)
        self.kind, self.by_head, self.grouped = kind, by_head, grouped

    def grid(self, name):
        if self.by_head:
            return self.const(np.float32(SCALE[name] * np.array([1, 1.3]))), self.const(np.zeros(HKV, np.int8)), {"axis": 1}
        zero = self.const(np.int8(0)) if self.kind == TensorProto.INT8 else self.name()
        if self.kind != TensorProto.INT8:
            self.constants.append(helper.make_tensor(zero, self.kind, [], b"\0", raw=True))
        return self.f32(SCALE[name]), zero, {}

    def cached(self, x, name):
        """What attention sees, and the cache with the new rows."""
        past = self.input(f"past_{name}", [B, HKV, "P", D], self.kind)
        rows = self.heads(self.op("MatMul", x, self.weight(E, EKV)), heads=HKV)
        scale, zero, axis = self.grid(name)
        present = self.op("Concat", past, self.op("QuantizeLinear", rows, scale, zero, **axis), axis=2)
        seen = self.op("DequantizeLinear", present, scale, zero, **axis)
        if self.grouped == "expand":
            seen = self.op("Unsqueeze", seen, self.ints(2))
            seen = self.op("Expand", seen, self.ints(1, 1, H // HKV, 1, 1))
            seen = self.op("Reshape", seen, self.ints(0, H, -1, D))
        return seen, present

    def decoder(self):
        x = self.input("x", [B, "S", E])
        q = self.heads(self.op("MatMul", x, self.weight(E, E)))
        k, new_k = self.cached(x, "k")
        v, new_v = self.cached(x, "v")
        s = self.op("Mul", self.op("MatMul", q, self.op("Transpose", k, perm=[0, 1, 3, 2])), self.f32(1 / math.sqrt(D)))
        y = self.merged(self.op("MatMul", self.op("Softmax", s, axis=-1), v))
        return self.whole(self.op("MatMul", y, self.weight(E, E)), new_k, new_v)

    def whole(self, y, k, v):
        outs = [helper.make_tensor_value_info(n, kind, None)
                for n, kind in [(y, TensorProto.FLOAT), (k, self.kind), (v, self.kind)]]
        graph = helper.make_graph(self.nodes, "decoder", self.inputs, outs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
        return model.SerializeToString()


SHAPES = {"x": ([B, 1, E], [B, 1, E], [B, 4, E]), **{f"past_{n}": ([B, HKV, 0, D], [B, HKV, 8, D], [B, HKV, 64, D]) for n in "kv"}}


def engine_of(model, **options):
    return test_transformers.engine_of(model, SHAPES, options)


def layers_of(engine):
    text = engine.create_engine_inspector().get_engine_information(wootz.LayerInformationFormat.JSON)
    return json.loads(text)["Layers"]


@pytest.mark.parametrize("by_head", [False, True])
@pytest.mark.parametrize("isa", ["native", "avx2"])
def test_steps_with_a_growing_cache_agree_with_onnx_runtime(by_head, isa):
    model = Decoder(TensorProto.INT8, by_head).decoder()
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    options = {} if isa == "native" else {"isa": isa}
    engines = [engine_of(model, **options), engine_of(model, **options, disable_passes="fuse_qdq_attention")]
    contexts = [engine.create_execution_context() for engine in engines]
    rng = np.random.default_rng(3)
    past = [np.zeros((B, HKV, 0, D), np.int8)] * 2
    for rows in [4, 1, 1, 2, 1]:
        feeds = {"x": rng.standard_normal((B, rows, E)).astype(np.float32), "past_k": past[0], "past_v": past[1]}
        want = session.run(None, feeds)
        for context in contexts:
            y, *caches = [np.array(v) for v in wootz.infer(context, feeds).values()]
            np.testing.assert_allclose(y, want[0], rtol=1e-3, atol=2e-3)
            for got, exact in zip(caches, want[1:]):  # a row next to a half may be rounded to either side
                assert np.abs(got.astype(int) - exact.astype(int)).max() <= 1
        past = want[1:]


@pytest.mark.parametrize("by_head", [False, True])
def test_attention_reads_the_bytes(by_head):
    layers = layers_of(engine_of(Decoder(TensorProto.INT8, by_head).decoder()))
    attention = [layer for layer in layers if layer["LayerType"] == "Attention"]
    assert [tensor["Format/Datatype"].split()[-1] for tensor in attention[0]["Inputs"]] == ["FP32", "Int8", "Int8"]
    caches = [name for layer in layers for tensor in layer["Outputs"]
              if (name := tensor["Format/Datatype"]).endswith("FP32") and len(tensor["Dimensions"]) == 4]
    assert not caches, "a cache in floats"


def test_caches_of_floats_of_8_bits():
    """NumPy has no such type: the bits go in and out, and what attention makes of them is that of the passes left out."""
    model = Decoder(TensorProto.FLOAT8E4M3FN).decoder()
    contexts = [engine_of(model, **o).create_execution_context() for o in ({}, {"disable_passes": "fuse_qdq_attention"})]
    rng = np.random.default_rng(4)
    past = [np.frombuffer(rng.integers(0, 120, B * HKV * 5 * D, np.uint8).tobytes(), ml_dtypes.float8_e4m3fn).reshape(
        B, HKV, 5, D) for _ in range(2)]
    feeds = {"x": rng.standard_normal((B, 1, E)).astype(np.float32), "past_k": past[0], "past_v": past[1]}
    one, other = ([np.array(v) for v in wootz.infer(context, feeds).values()] for context in contexts)
    np.testing.assert_allclose(one[0], other[0], rtol=1e-4, atol=1e-4)
    for a, b in zip(one[1:], other[1:]):
        assert a.shape == (B, HKV, 6, D) and a.tobytes() == b.tobytes()
