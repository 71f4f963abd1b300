"""A model that cannot be read: every error is told, with its node; and the questions to ask before."""
import tensorrt as trt

import models
from common import LOGGER

builder = trt.Builder(trt.Logger(trt.Logger.INTERNAL_ERROR))  # what follows is no surprise
network = builder.create_network(0)
parser = trt.OnnxParser(network, LOGGER)
assert not parser.parse(models.unknown())
assert parser.num_errors >= 1
for i in range(parser.num_errors):
    error = parser.get_error(i)
    print(f"  code {error.code()}, node {error.node()}: {error.desc()}")
texts = [parser.get_error(i).desc() for i in range(parser.num_errors)]
assert any("NotAnOperator" in text for text in texts), texts
parser.clear_errors()
assert parser.num_errors == 0
assert parser.is_operator_supported("Relu") if hasattr(parser, "is_operator_supported") else parser.supports_operator("Relu")
print("every error is told")
