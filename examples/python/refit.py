"""New weights for an engine that runs: by their names, and all of a model's at once."""
import numpy as np
import tensorrt as trt

import models
from common import LOGGER, Buffers, expect

old_model, old = models.mlp(seed=4)
new_model, new = models.mlp(seed=5)
builder = trt.Builder(LOGGER)
network = builder.create_network(0)
parser = trt.OnnxParser(network, LOGGER)
assert parser.parse(old_model)
config = builder.create_builder_config()
config.set_flag(trt.BuilderFlag.REFIT)
engine = trt.Runtime(LOGGER).deserialize_cuda_engine(builder.build_serialized_network(network, config))
assert engine.refittable
context = engine.create_execution_context()
x = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)
with Buffers(engine, context) as buffers:
    expect(buffers.infer(context, x=x)["y"], old(x), "before")

    refitter = trt.Refitter(engine, LOGGER)
    print("weights:", refitter.get_all_weights())
    for name, array in models.random_weights(5, w1=(8, 16), b1=(16,), w2=(16, 3), b2=(3,)).items():
        assert refitter.set_named_weights(name, array), name
    missing = refitter.get_missing_weights()
    assert not missing, missing
    assert refitter.refit_cuda_engine()
    expect(buffers.infer(context, x=x)["y"], new(x), "by name")

    refitter = trt.Refitter(engine, LOGGER)
    parser_refitter = trt.OnnxParserRefitter(refitter, LOGGER)
    assert parser_refitter.refit_from_bytes(old_model) and refitter.refit_cuda_engine()
    expect(buffers.infer(context, x=x)["y"], old(x), "by a model")
