"""Figures that a test run should show even when it passes: tests append lines to `FIGURES`."""
FIGURES = []


def pytest_terminal_summary(terminalreporter):
    for line in FIGURES:
        terminalreporter.write_line(line)
