"""YOLOv5s, release 6: cross-stage partial backbone with SiLU, fast spatial pyramid pooling, path aggregation, three heads."""

import torch
from torch import nn

STRIDES = (8, 16, 32)
ANCHORS = (
    ((10, 13), (16, 30), (33, 23)),
    ((30, 61), (62, 45), (59, 119)),
    ((116, 90), (156, 198), (373, 326)),
)
CLASSES = 80


def conv(inputs, outputs, kernel=1, stride=1, padding=None):
    padding = kernel // 2 if padding is None else padding
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False), nn.BatchNorm2d(outputs, eps=1e-3), nn.SiLU())


class Bottleneck(nn.Module):
    def __init__(self, channels, shortcut):
        super().__init__()
        self.first, self.second, self.shortcut = conv(channels, channels), conv(channels, channels, 3), shortcut

    def forward(self, x):
        y = self.second(self.first(x))
        return x + y if self.shortcut else y


class C3(nn.Module):
    def __init__(self, inputs, outputs, count, shortcut=True):
        super().__init__()
        half = outputs // 2
        self.left, self.right, self.join = conv(inputs, half), conv(inputs, half), conv(2 * half, outputs)
        self.chain = nn.Sequential(*(Bottleneck(half, shortcut) for _ in range(count)))

    def forward(self, x):
        return self.join(torch.cat((self.chain(self.left(x)), self.right(x)), 1))


class Pyramid(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.enter, self.leave = conv(channels, channels // 2), conv(2 * channels, channels)
        self.pool = nn.MaxPool2d(5, 1, 2)

    def forward(self, x):
        a = self.enter(x)
        b = self.pool(a)
        c = self.pool(b)
        return self.leave(torch.cat((a, b, c, self.pool(c)), 1))


class YoloV5s(nn.Module):
    """`decode`: boxes in pixels, [B, 25200, 85], as the exporter writes them; otherwise the heads' sigmoids."""

    def __init__(self, decode):
        super().__init__()
        self.decode = decode
        self.p3 = nn.Sequential(conv(3, 32, 6, 2, 2), conv(32, 64, 3, 2), C3(64, 64, 1), conv(64, 128, 3, 2), C3(128, 128, 2))
        self.p4 = nn.Sequential(conv(128, 256, 3, 2), C3(256, 256, 3))
        self.p5 = nn.Sequential(conv(256, 512, 3, 2), C3(512, 512, 1), Pyramid(512))
        self.up = nn.Upsample(scale_factor=2)
        self.narrow5, self.mix4 = conv(512, 256), C3(512, 256, 1, False)
        self.narrow4, self.mix3 = conv(256, 128), C3(256, 128, 1, False)
        self.down3, self.out4 = conv(128, 128, 3, 2), C3(256, 256, 1, False)
        self.down4, self.out5 = conv(256, 256, 3, 2), C3(512, 512, 1, False)
        self.heads = nn.ModuleList(nn.Conv2d(c, 3 * (CLASSES + 5), 1) for c in (128, 256, 512))

    def boxes(self, level, y):
        batch, _, height, width = y.shape
        y = y.view(batch, 3, CLASSES + 5, height, width).permute(0, 1, 3, 4, 2)
        rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
        grid = (torch.stack((columns, rows), 2).expand(1, 3, height, width, 2) - 0.5).to(y)
        anchor = torch.tensor(ANCHORS[level]).view(1, 3, 1, 1, 2).to(y)
        centre, size, rest = y.sigmoid().split((2, 2, CLASSES + 1), 4)
        centre = (centre * 2 + grid) * STRIDES[level]
        size = (size * 2) ** 2 * anchor
        return torch.cat((centre, size, rest), 4).view(batch, -1, CLASSES + 5)

    def forward(self, x):
        p3 = self.p3(x)
        p4 = self.p4(p3)
        a = self.narrow5(self.p5(p4))
        b = self.narrow4(self.mix4(torch.cat((self.up(a), p4), 1)))
        c = self.mix3(torch.cat((self.up(b), p3), 1))
        d = self.out4(torch.cat((self.down3(c), b), 1))
        e = self.out5(torch.cat((self.down4(d), a), 1))
        maps = [head(v) for head, v in zip(self.heads, (c, d, e))]
        if self.decode:
            return torch.cat([self.boxes(i, y) for i, y in enumerate(maps)], 1)
        return tuple(y.sigmoid() for y in maps)
