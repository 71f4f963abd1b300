"""What all tests share. Figures that a run should show even when it passes: tests append lines to `FIGURES`."""
import os

import pytest

FIGURES = []

# A test that does not say a backend means the processor, also on machines where builds go to a GPU by themselves.
os.environ.setdefault("WOOTZ_BACKEND", "cpu")


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: minutes, which ./dev test --fast leaves out")


def pytest_sessionfinish(session):
    """A process of several (pytest-xdist) hands its figures to the one that shows them."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["figures"] = FIGURES


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    FIGURES.extend(getattr(node, "workeroutput", {}).get("figures", []))


def pytest_terminal_summary(terminalreporter):
    for line in FIGURES:
        terminalreporter.write_line(line)
