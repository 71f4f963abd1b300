"""# torch.compile with Wootz

`torch.compile(model, backend="wootz")` builds an engine for what torch traces, and later calls hand it the addresses of torch's tensors ([PyTorch](../../docs/torch.md)). Nothing
else of the program changes: shapes may vary, and what cannot be converted stays with torch, with a line that says which operation and why.

The model is a small residual network with attention at its end, of random weights, for pictures of 64 x 64. Needs torch, which is no dependency of Wootz; without it this
program says so and ends.

**What to look at:** the times of eager mode and of the compiled model, for batches of 1, 4 and 8. The first call of each is longer, as it builds an engine; it is not in the picture, but
printed. Results have to agree with eager's to one part in ten thousand, and the whole model has to be one graph, of which nothing is left to torch.
"""
import sys
import time

import common

try:
    import torch
    from torch import nn
except ImportError:
    print("skipped: torch is not installed")
    sys.exit(0)

import wootz.torch

BATCHES = (1, 4, 8)


class Block(nn.Module):
    """Two convolutions beside an identity."""

    def __init__(self, channels):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU(),
                                  nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels))

    def forward(self, x):
        return torch.relu(x + self.body(x))


class Net(nn.Module):
    """A stem, blocks at three resolutions, attention over what is left, and ten scores."""

    def __init__(self):
        super().__init__()
        down = lambda a, b: nn.Conv2d(a, b, 3, stride=2, padding=1)
        self.features = nn.Sequential(down(3, 32), Block(32), down(32, 64), Block(64), down(64, 128), Block(128))
        self.attention = nn.MultiheadAttention(128, 4, batch_first=True)
        self.head = nn.Sequential(nn.LayerNorm(128), nn.Linear(128, 10))

    def forward(self, x):
        tokens = self.features(x).flatten(2).transpose(1, 2)
        mixed, _ = self.attention(tokens, tokens, tokens, need_weights=False)
        return self.head((tokens + mixed).mean(1))


def main():
    chosen = common.arguments()
    torch.manual_seed(0)
    device = torch.device(chosen.backend)
    model = Net().eval().to(device)
    build = {"build": {"timing": "0"}} if chosen.quick else {}
    fast = torch.compile(model, backend="wootz", dynamic=False, options={"cache": False, **build})
    rows = {}
    with torch.no_grad():
        for batch in BATCHES:
            x = torch.randn(batch, 3, 64, 64, device=device)
            began = time.perf_counter()
            got = fast(x)
            first = time.perf_counter() - began
            difference = common.agree(got.cpu(), model(x).cpu(), f"batch {batch}", chosen.tolerance)
            finish = torch.cuda.synchronize if device.type == "cuda" else lambda: None
            rows[batch] = common.milliseconds({"eager": lambda: (model(x), finish()), "Wootz": lambda: (fast(x), finish())}, 2 if chosen.quick else 40)
            print(f"batch {batch}: eager {rows[batch]['eager']:.2f} ms, Wootz {rows[batch]['Wootz']:.2f} ms; differs by {difference:.1g}; the first call took {first:.1f} s")
    counts = wootz.torch.statistics()
    print(f"statistics: {counts}")
    common.expect(not counts["left"] and counts["graphs"] == len(BATCHES), "the whole model is one graph for each batch, and nothing is left to torch")
    page = common.Picture(900, 60 + 28 * 2 * len(BATCHES))
    bars = [(f"{who}, batch {batch}", ms, 1 - i) for batch, row in rows.items() for i, (who, ms) in enumerate(row.items())]
    page.bars(24, 34, 850, f"One call, on {torch.get_num_threads()} threads" if device.type == "cpu" else "One call", bars, " ms")
    page.save(chosen.out / "torch_compile.svg")


if __name__ == "__main__":
    main()
