"""Builds that remember what earlier ones measured: a timing cache in a file."""
import os
import pathlib
import tempfile

import tensorrt as trt

import models
from common import LOGGER

cache_file = pathlib.Path(tempfile.mkdtemp()) / "timing.cache"


def build():
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, LOGGER)
    assert parser.parse(models.mlp(seed=7)[0])
    config = builder.create_builder_config()
    if os.path.exists(cache_file):
        with open(cache_file, "rb") as file:
            cache = config.create_timing_cache(file.read())
    else:
        cache = config.create_timing_cache(b"")
    assert config.set_timing_cache(cache, ignore_mismatch=False)
    assert builder.build_serialized_network(network, config) is not None
    data = bytes(config.get_timing_cache().serialize())
    with open(cache_file, "wb") as file:
        file.write(data)
    return data


first = build()
second = build()
assert len(first) > 100 and second == first, "the second build has measured anew"
config = trt.Builder(LOGGER).create_builder_config()
assert config.create_timing_cache(first).combine(config.create_timing_cache(second), ignore_mismatch=False)
print(f"{len(first)} bytes of measurements, used again")
