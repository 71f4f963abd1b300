"""What is in an engine: its layers as JSON, with the formats and the tactic of each."""
import json

import tensorrt as trt

import models
from common import LOGGER

onnx_model, _ = models.mlp(seed=6)
builder = trt.Builder(LOGGER)
network = builder.create_network(0)
parser = trt.OnnxParser(network, LOGGER)
assert parser.parse(onnx_model)
config = builder.create_builder_config()
config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
engine = trt.Runtime(LOGGER).deserialize_cuda_engine(builder.build_serialized_network(network, config))
inspector = engine.create_engine_inspector()
context = engine.create_execution_context()
inspector.execution_context = context
everything = json.loads(inspector.get_engine_information(trt.LayerInformationFormat.JSON))
assert len(everything["Layers"]) == engine.num_layers >= 2
for i in range(engine.num_layers):
    layer = json.loads(inspector.get_layer_information(i, trt.LayerInformationFormat.JSON))
    print(f"  {layer['Name']}: {layer['LayerType']}, {layer.get('TacticName', 'no tactic')}")
    assert layer["Inputs"] and layer["Outputs"]
assert "second" in inspector.get_engine_information(trt.LayerInformationFormat.ONELINE)
print("the engine is told layer by layer")
