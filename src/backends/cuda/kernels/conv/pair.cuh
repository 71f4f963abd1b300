// A convolution and the one of single pixels that alone reads it, as bottlenecks of image networks end with, on tensor
// cores in 16 bits: what is in between goes from sums to the next product's rows in registers, and the weights of both
// stay in shared memory. A block has kTeams teams of four warps, each of which takes one tile of 8 by 8 results after
// the other: what the windows of the next tile cover is on its way to shared memory meanwhile, eight channels of a
// pixel after those of its neighbour, so that a row of the window is the same matrix one pixel on. The second product
// may go on over the pixels of another image (a shortcut by a convolution of its own): a thread reads eight channels of
// each of its two pixels at once, and the weights lie in that order. A convolution by single pixels of the result, as
// the next bottleneck begins with, may be the third product: results are its rows as they are stored, part by part. The
// problem: W, of all; kTeams; kBuffers: patches of each team, 1 or 2; kChannels, kMiddle: of the image and in between,
// multiples of 16 and of 32; kFurther: of the other image, a multiple of 32, 0: there is none; kColumns: of the result,
// a multiple of 32; kNext: of the third product, a multiple of 32, 0: there is none; kTapsH, kTapsW: of the window,
// whose steps are 1; w: for each kMiddleOnce columns in between kFirstSteps parts of the sum as w_group_products() has
// them, v: the same for each kOnce columns, which lie so that a thread's sums are eight neighbours; further_of(p): the
// other image; bias_of(p, n): of columns n and n + 1 in between; middle_of(a): what is there, for the sum a with its
// bias; next_weights_of(p): as v, next_made_of(p): the third product's result, next_bias_of(p, n): of its columns n to
// n + 7, next_of(a): what is there; Constants {in_h, in_w, out_h, out_w, pad_top, pad_left, columns; tiles_w, tiles_h:
// of an image, tiles: of all; teams: of all blocks}; at(), ahead() and results() as of gemm/tile.cuh, with kVector
// of 8. Images and results have less than 2^31 elements.
#pragma once
#include "backends/cuda/kernels/gemm/group_mma.cuh"
#include "backends/cuda/kernels/gemm/rescale.cuh"

constexpr int kSide = 8, kTeam = 128, kBlock = kTeams * kTeam;
constexpr int kInWide = kSide + kTapsW - 1, kPixels = kInWide * (kSide + kTapsH - 1);
constexpr int kPlane = (kPixels | 1) * 16;  // of eight channels: eight copies of one pixel meet no bank twice
constexpr int kPieces = kChannels / 8, kPatchBytes = kPieces * kPlane;
constexpr int kMiddleOnce = kMiddle % 64 == 0 ? 64 : 32, kOnce = kColumns % 64 == 0 ? 64 : 32;
constexpr int kFirstSteps = kTapsH * kTapsW * kChannels / 16, kMiddleSteps = kMiddle / 16;
constexpr int kSecondSteps = kMiddleSteps + kFurther / 16;
constexpr int kFirstBytes = kFirstSteps * kMiddle * 32, kSecondBytes = kSecondSteps * kColumns * 32;
constexpr int kNextOnce = kNext % 64 == 0 ? 64 : 32, kNextParts = kNext / kNextOnce, kNextBytes = kNext * kColumns * 2;
constexpr int kSharedBytes = kFirstBytes + kSecondBytes + kNextBytes + kTeams * kBuffers * kPatchBytes;
constexpr int kParts = kColumns / kOnce, kRoom = kNext == 0 || kTeams < 3 ? 4 : kNext + kFurther <= 64 ? 2 : 1;
constexpr int kEarly = kParts < kRoom ? kParts : kRoom;  // parts of a result whose operands are read ahead of the sums
constexpr int kVectors = kOnce / 16;                     // of a part, that a thread stores

struct TileAt {
  int image, y, x;
};
W_FN TileAt tile_at(const Constants& c, int tile) {
  const int rest = tile / c.tiles_w;
  return {rest / c.tiles_h, rest % c.tiles_h * kSide, tile % c.tiles_w * kSide};
}

// What the windows of a tile cover; zeros outside of the image, and of a tile that is not there.
W_FN void load_patch(const Operands& p, const Constants& c, int tile, const TileAt& at, u8* patch) {
  constexpr int kCopies = kPixels * kPieces;
  const int t = w_here(threadIdx.x % kTeam), top = at.y - c.pad_top, left = at.x - c.pad_left;
#pragma unroll
  for (int i = 0; i < (kCopies + kTeam - 1) / kTeam; ++i) {
    const int copy = t + i * kTeam, pixel = copy / kPieces, piece = copy % kPieces;
    const int y = top + pixel / kInWide, x = left + pixel % kInWide;
    const bool in = tile < c.tiles && (u32)y < (u32)c.in_h && (u32)x < (u32)c.in_w;
    const int from = in ? ((at.image * c.in_h + y) * c.in_w + x) * kChannels + piece * 8 : 0;
    if ((i + 1) * kTeam <= kCopies || copy < kCopies) w_copy16(patch + piece * kPlane + pixel * 16, p.x + from, in);
  }
  w_commit();
}

// A thread's two pixels of a tile: rows of the result, and whether they are in it.
struct Own {
  int row[2];
  bool in[2];
};
W_FN Own own_of(const Constants& c, const TileAt& at) {
  Own own;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int y = at.y + threadIdx.x / 32 % 4 * 2 + half, x = at.x + threadIdx.x % 32 / 4;
    own.in[half] = y < c.out_h && x < c.out_w;
    own.row[half] = own.in[half] ? (at.image * c.out_h + y) * c.out_w + x : 0;
  }
  return own;
}

// The column that vector m of a part begins with.
W_FN int column_of(int part, int m) { return part * kOnce + m / 2 * 32 + threadIdx.x % 4 * 8; }

typedef Ahead Early[kVectors];
W_FN void read_ahead(const Operands& p, const Constants& c, const Own& own, int part, Early& early) {
#pragma unroll
  for (int m = 0; m < kVectors; ++m) early[m] = ahead(p, c, at(c, own.row[m % 2]), column_of(part, m));
}

// The rows of the second product that are the other image's.
W_FN void read_further(const Operands& p, const Own& own, u32 (&rows)[kSecondSteps][4]) {
#pragma unroll
  for (int part = 0; part < kFurther / 32; ++part)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const W* const from = further_of(p) + (own.row[half] * kFurther + part * 32 + threadIdx.x % 4 * 8);
      const Pack<u32, 4> read = w_read_now((const Pack<u32, 4>*)from);
#pragma unroll
      for (int e = 0; e < 4; ++e) rows[kMiddleSteps + part * 2 + e / 2][e % 2 * 2 + half] = read.v[e];
    }
}

// Those that are in between, from the patch.
W_FN void multiply_first(const Operands& p, const u8* patch, const u8* weights, u32 (&rows)[kSecondSteps][4]) {
  constexpr int kOfTap = kChannels / 16;
#pragma unroll
  for (int piece = 0; piece < kMiddle / kMiddleOnce; ++piece) {
    float acc[kMiddleOnce / 8][4];
    w_group_products_of<W, kFirstSteps, kMiddleOnce, kPlane, kInWide * 16>(
        patch,
        [](int step) {
          const int tap = step / kOfTap;
          return step % kOfTap * 2 * kPlane + (tap / kTapsW * kInWide + tap % kTapsW) * 16;
        },
        weights + piece * (kFirstSteps * kMiddleOnce * 32), acc);
#pragma unroll
    for (int i = 0; i < kMiddleOnce / 8; ++i) {
      const Pack<float, 2> bias = bias_of(p, piece * kMiddleOnce + i * 8 + threadIdx.x % 4 * 2);
#pragma unroll
      for (int half = 0; half < 2; ++half)
        rows[(piece * kMiddleOnce / 8 + i) / 2][i % 2 * 2 + half] =
            w_halves<W>(middle_of(acc[i][half * 2] + bias.v[0]), middle_of(acc[i][half * 2 + 1] + bias.v[1]));
    }
  }
}

// Two results as a product reads them; those of another type than W are no rows.
W_FN u32 two_of(W a, W b) { return (u32)a.x | (u32)b.x << 16; }
template <class T>
W_FN u32 two_of(T, T) {
  return 0;
}

// `made`: rows of the third product.
W_FN void store(const Operands& p, const Constants& c, const Own& own, int part, const float (&acc)[kOnce / 8][4],
                const Early& early, u32 (&made)[kOnce / 16][4]) {
#pragma unroll
  for (int m = 0; m < kVectors; ++m) {
    const int half = m % 2, n = column_of(part, m);
    Pack<float, 8> sums;
#pragma unroll
    for (int v = 0; v < 8; ++v) sums.v[v] = acc[m / 2 * 4 + v / 2][half * 2 + v % 2];
    float a[8];
    rescale(c, sums, nullptr, n, a);
    const Pack<Y, 8> z = results(p, c, a, at(c, own.row[half]), n, nullptr, early[m]);
    if (own.in[half]) *(Pack<Y, 8>*)(p.y + (own.row[half] * kColumns + n)) = z;
#pragma unroll
    for (int e = 0; e < 4; ++e) made[m / 2 * 2 + e / 2][e % 2 * 2 + half] = two_of(z.v[e * 2], z.v[e * 2 + 1]);
  }
}

typedef float Next[kNext == 0 ? 1 : kNextParts][kNextOnce / 8][4];
W_FN void store_next(const Operands& p, const Own& own, const Next& acc) {
#pragma unroll
  for (int m = 0; m < kNext / 16; ++m) {
    const int half = m % 2, of = m / 2 % (kNextOnce / 32), n = m / 2 * 32 + threadIdx.x % 4 * 8;
    const Pack<float, 8> bias = next_bias_of(p, n);
    Pack<u32, 4> z;
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const float* const sums = acc[m * 16 / kNextOnce][of * 4 + e] + half * 2;
      z.v[e] = w_halves<W>(next_of(sums[0] + bias.v[e * 2]), next_of(sums[1] + bias.v[e * 2 + 1]));
    }
    if (own.in[half]) *(Pack<u32, 4>*)(next_made_of(p) + (own.row[half] * kNext + n)) = z;
  }
}

W_FN void copy_weights(const W* from, u8* to, int bytes) {
  for (int i = threadIdx.x; i < bytes / 16; i += kBlock) w_copy16(to + i * 16, (const u8*)from + i * 16, true);
}

W_FN void kernel(const Operands& p, const Constants& c) {
  W_SHARED(memory, kSharedBytes);
  const int team = threadIdx.x / kTeam;
  u8 *const second = memory + kFirstBytes, *const third = second + kSecondBytes;
  u8* const patches = third + kNextBytes + team * kBuffers * kPatchBytes;
  copy_weights(p.w, memory, kFirstBytes);
  copy_weights(p.v, second, kSecondBytes);
  if (kNext > 0) copy_weights(next_weights_of(p), third, kNextBytes);
  w_begin();
  int tile = blockIdx.x * kTeams + team, buffer = 0;
  TileAt at = tile_at(c, tile);
  load_patch(p, c, tile, at, patches);
  w_wait<0>();
  w_group_fence();
  __syncthreads();
#pragma unroll 1
  for (; tile < c.tiles; tile += c.teams, buffer = kBuffers - 1 - buffer) {
    const Own own = own_of(c, at);
    at = tile_at(c, tile + c.teams);
    if (kBuffers == 2) load_patch(p, c, tile + c.teams, at, patches + (1 - buffer) * kPatchBytes);
    w_wait<kBuffers - 1>();
    w_group_fence();
    w_meet<kTeam, kTeams>(team);
    Early early[kEarly];
#pragma unroll
    for (int part = 0; part < kEarly; ++part) read_ahead(p, c, own, part, early[part]);
    u32 rows[kSecondSteps][4];
    read_further(p, own, rows);
    multiply_first(p, patches + buffer * kPatchBytes, memory, rows);
    w_meet<kTeam, kTeams>(team);  // the patch is read: it may be a later one
    if (kBuffers == 1) load_patch(p, c, tile + c.teams, at, patches);
    Next next;
    // Of long sums one part after the other in a loop: the compiler would move reads up, for which no registers are
    // left.
#pragma unroll(kEarly == 1 ? 1 : kParts)
    for (int part = 0; part < kParts; ++part) {
      float acc[kOnce / 8][4];
      w_group_products<W, kSecondSteps, kOnce>(rows, second + part * (kSecondSteps * kOnce * 32), acc);
      u32 made[kOnce / 16][4];
      store(p, c, own, part, acc, early[part % kEarly], made);
      if (part + kEarly < kParts) read_ahead(p, c, own, part + kEarly, early[part % kEarly]);
#pragma unroll
      for (int columns = 0; columns < kNextParts; ++columns)
        w_group_products<W, kOnce / 16, kNextOnce>(made, third + (columns * kColumns + part * kOnce) * (kNextOnce * 2),
                                                   next[columns], part > 0);
    }
    store_next(p, own, next);
  }
  w_wait<0>();
}
