"""A tiny network for tests of callbacks: y = softmax(relu(x * 2)), and what is kept of it: kept = the places where x is positive."""
import os

import numpy as np
import pytest
import wootz as trt

SHAPE = (2, 6)
SEED = int(os.environ.get("WOOTZ_SEED", int.from_bytes(os.urandom(4), "little")))
TOLERANCE = {"rtol": 1e-5, "atol": 1e-6}


@pytest.fixture(autouse=True)
def seed():
    print(f"WOOTZ_SEED={SEED}")


@pytest.fixture
def x():
    return np.random.default_rng(SEED).standard_normal(SHAPE).astype(np.float32)


class Recorder(trt.IErrorRecorder):
    def __init__(self):
        super().__init__()
        self.errors = []

    def num_errors(self):
        return len(self.errors)

    def get_error_code(self, index):
        return self.errors[index][0]

    def get_error_desc(self, index):
        return self.errors[index][1]

    def has_overflowed(self):
        return False

    def clear(self):
        self.errors.clear()

    def report_error(self, code, description):
        self.errors.append((code, description))
        return True


class Heard(trt.ILogger):
    """A logger that keeps what it is told."""

    def __init__(self, most=trt.ILogger.ERROR):
        super().__init__()
        self.most, self.lines = most, []

    def log(self, severity, msg):
        if severity <= self.most:
            self.lines.append(msg)


def make(logger, dynamic=False, data_dependent=False):
    """(builder, network, config)"""
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    config = builder.create_builder_config()
    config.set_option("timing", "0")
    config.set_option("backend", "cpu")
    x = network.add_input("x", trt.float32, (-1 if dynamic else SHAPE[0], SHAPE[1]))
    two = network.add_constant((1, SHAPE[1]), np.full((1, SHAPE[1]), 2, np.float32)).get_output(0)
    doubled = network.add_elementwise(x, two, trt.ElementWiseOperation.PROD).get_output(0)
    relu = network.add_activation(doubled, trt.ActivationType.RELU)
    relu.name = "relu"
    softmax = network.add_softmax(relu.get_output(0))
    softmax.axes = 2
    y = softmax.get_output(0)
    y.name = "y"
    network.mark_output(y)
    network.mark_debug(relu.get_output(0))
    relu.get_output(0).name = "r"
    if data_dependent:
        kept = network.add_non_zero(relu.get_output(0)).get_output(0)
        kept.name = "kept"
        network.mark_output(kept)
    if dynamic:
        profile = builder.create_optimization_profile()
        profile.set_shape("x", (1, SHAPE[1]), SHAPE, (64, SHAPE[1]))
        config.add_optimization_profile(profile)
    return builder, network, config


def plan(logger, **kinds):
    builder, network, config = make(logger, **kinds)
    return bytes(builder.build_serialized_network(network, config))


def want(x):
    r = np.maximum(2 * x, 0)
    e = np.exp(r - r.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
