// Tiles of products and convolutions of many rows, and what their stages have of x: 64 channels of one tap of each
// window. The problem: kRows, kColumns: of a tile; Constants {tiles_m, out_w, out_h; stride_w, stride_h, pad_left,
// pad_top, dilation_w, dilation_h, taps_w; lines: stages of a tap}.
#pragma once
#include "backends/cuda/kernels/gemm/feed.cuh"

// A tile's first row and column; the first row's window.
struct TileAt {
  int m, n;
  Corner window;
};
W_FN TileAt tile_at(const Constants& c, int tile) {
  const int m = tile % c.tiles_m * kRows, rest = m / c.out_w;
  return {m, tile / c.tiles_m * kColumns, {m % c.out_w, rest % c.out_h, rest / c.out_h}};
}

// Of a window: the tap and the channels that a stage has.
struct Walk {
  int line, s, r;
  W_M void next(const Constants& c) {
    if (++line < c.lines) return;
    line = 0;
    if (++s < c.taps_w) return;
    s = 0;
    ++r;
  }
};

W_FN void fetch_windows(u8* to, const TensorMap* x, u64* bar, const Constants& c, const Corner& window,
                        const Walk& walk) {
  const Corner first = {window.x * c.stride_w - c.pad_left, window.y * c.stride_h - c.pad_top, window.image};
  w_fetch_pixels(to, x, bar, walk.line * kPlaces, first, walk.s * c.dilation_w, walk.r * c.dilation_h);
}
