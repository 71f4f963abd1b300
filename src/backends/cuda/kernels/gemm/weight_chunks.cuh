// Few rows of 16-bit floats times weights of 4 bits, on tensor cores. A block makes kOwn tiles of 16 columns of the
// result, and its warps divide the sum: each takes kEach chunks of 64 elements, kStep of them at a time. They are on
// their way to shared memory before the step ahead has ended, kAhead chunks of a warp at once and, where that is not
// all, others as places become free; every thread reads only what it has copied itself. A thread's part of a chunk is
// 16 bytes for each tile: of four products, the eight weights that it holds in each as w_mma() has them, freed of their
// zero point exactly. Of a row, it takes 16 neighbours of a chunk for them: which elements of a sum meet does not
// matter as long as both operands agree. The problem: X; S, the scales' type; kThreads, kOwn, kEach, kStep, kAhead;
// kGrids: blocks that a warp's chunks may be of; kEven: no warp's chunks end behind the sum; kRows, 8 at most;
// kHasZero, and without them kZero, which stands for 0 in the packed weights; kSharedBytes; Constants {columns, depth,
// rows; chunks: of a column; blocks: of a column; block: chunks that share a scale; tiles: of columns; slices: blocks
// of threads for the columns; parts: of threads that have a part of the result}
//   const u8* zeros(p)               packed zero points, if there are any
//   Given given(p, c, r, m), epilogue(s, given)   what the expression after the sum reads, and the expression
//   store(p, c, r, m, value)         into the result that column m is of
// and Rows, where a warp's rows of X come from: before(p, c, at) while nothing of them is there, and after(p, c, at,
// r0) when they are, which gives the row of those from r0 on that this thread reads, lane / 4; any one behind the last.
// Elements of a row stand kOffset behind those of the sum: a warp's own copy begins with its first chunk.
#pragma once
#include "backends/cuda/kernels/gemm/mma.cuh"

constexpr int kWarps = kThreads / 32, kTile = 16, kChunk = 64, kPiece = 16;
constexpr int kTileBytes = kTile * kChunk / 2, kLineBytes = kOwn * kTileBytes;  // a line: a chunk of all tiles
constexpr int kScaleBytes = kTile * (int)sizeof(S), kGridCount = kOwn * kGrids;
constexpr int kZerosAt = kGridCount * kScaleBytes, kGridBytes = kZerosAt + (kHasZero ? kGridCount * kTile : 0);
constexpr int kGridsAt = kWarps * kAhead * kLineBytes, kRowsAt = kGridsAt + kWarps * kGridBytes;
constexpr int kResults = (kOwn * kTile * kRows + kThreads - 1) / kThreads;  // of a thread

// Of a block: the tile and chunk that this warp begins with, and its parts of shared memory.
struct Place {
  int tile, first;
  u8 *lines, *grid, *rows;
};

template <class T>
struct Bits;
// As floats, weights are the last bits of a significand: kOne + bits, and kMinusOne + zero is what is added then. Where
// they may stand four bits higher, a sixteenth of that, of which kMinusHigh + zero * kHighStep frees it.
template <>
struct Bits<f16> {
  static const u32 kOne = 0x6400, kMinusOne = 0xe400, kFactor = 0x3c003c00;
  static const bool kHigh = true;
  static const u32 kMinusHigh = 0xd400, kHighStep = 16, kSixteenth = 0x2c002c00;
};

template <>
struct Bits<bf16> {
  static const u32 kOne = 0x4300, kMinusOne = 0xc300, kFactor = 0x3f803f80;
  static const bool kHigh = false;  // seven bits do not hold them
  static const u32 kMinusHigh = kMinusOne, kHighStep = 1, kSixteenth = kFactor;
};

// Weights in bits kAt and on of both halves, with `less`, in two instructions.
#ifdef WOOTZ_ON_HOST
template <int kAt>
W_FN u32 weights_of(u32 bits, u32 less) {
  X each[4];
  each[0].x = (u16)((bits & 15u << kAt) | Bits<X>::kOne);
  each[1].x = (u16)((bits >> 16 & 15u << kAt) | Bits<X>::kOne);
  each[2].x = (u16)less;
  each[3].x = (u16)(less >> 16);
  const float factor = kAt == 0 ? 1.0f : 0.0625f;
  return w_halves<X>(w_get(each[0]) * factor + w_get(each[2]), w_get(each[1]) * factor + w_get(each[3]));
}
W_FN void read_active(bool active, const u8* from, Pack<u32, 4>* to) {
  if (active) *to = *(const Pack<u32, 4>*)from;
}
#else
template <int kAt>
W_FN u32 weights_of(u32 bits, u32 less) {
  constexpr u32 kMask = 0x000f000fu << kAt, kFactor = kAt == 0 ? Bits<X>::kFactor : Bits<X>::kSixteenth;
  u32 made;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(made) : "r"(bits), "n"(kMask), "r"(Bits<X>::kOne * 0x10001u));
  if constexpr (Bits<X>::kHigh)
    asm("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(made) : "r"(kFactor), "r"(less));
  else
    asm("fma.rn.bf16x2 %0, %0, %1, %2;" : "+r"(made) : "r"(kFactor), "r"(less));
  return made;
}
// From shared memory, for threads that are active: others keep what they have, which is faster than to read the same.
W_FN void read_active(bool active, const u8* from, Pack<u32, 4>* to) {
  asm volatile("{\n .reg .pred p;\n setp.ne.u32 p, %5, 0;\n @p ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];\n}"
               : "+r"(to->v[0]), "+r"(to->v[1]), "+r"(to->v[2]), "+r"(to->v[3])
               : "r"((u32)__cvta_generic_to_shared(from)), "r"((u32)active));
}
#endif

W_FN int within(int i, int count) { return i < count ? i : count - 1; }
W_FN u8* line_at(const Place& at, int line) {
  return at.lines + (kAhead < kEach ? line % kAhead : line) * kLineBytes + threadIdx.x % 32 * kPiece;
}

W_FN void copy_line(const Operands& p, const Constants& c, const Place& at, int line) {
  const int lane = threadIdx.x % 32, chunk = at.first + line;
  u8* const to = line_at(at, line);
#pragma unroll
  for (int o = 0; o < kOwn; ++o) {
    const int tile = within(at.tile + o, c.tiles);
    const bool in = kEven || chunk < c.chunks;
    w_copy16(to + o * kTileBytes, p.w + (in ? (((s64)tile * c.chunks + chunk) * 32 + lane) * 4 : 0), in);
  }
}

// Scales and zero points of the blocks that the warp's chunks are of, tile by tile.
W_FN void copy_grid(const Operands& p, const Constants& c, const Place& at) {
  constexpr int kPieces = kScaleBytes / kPiece;
  const int lane = threadIdx.x % 32, first = at.first / c.block;
#pragma unroll
  for (int from = 0; from < kGridCount * kPieces; from += 32) {
    const int i = from + lane, own = i / kPieces;
    if (i >= kGridCount * kPieces) break;
    const s64 block = (s64)within(at.tile + own / kGrids, c.tiles) * c.blocks + within(first + own % kGrids, c.blocks);
    w_copy16(at.grid + i * kPiece, (const u8*)(p.scale + block * kTile) + i % kPieces * kPiece, true);
  }
  if constexpr (kHasZero)
#pragma unroll
    for (int from = 0; from < kGridCount; from += 32) {
      const int i = from + lane;
      if (i >= kGridCount) break;
      const s64 block = (s64)within(at.tile + i / kGrids, c.tiles) * c.blocks + within(first + i % kGrids, c.blocks);
      w_copy16(at.grid + kZerosAt + i * kTile, zeros(p) + block * kTile, true);
    }
}

// A group of copies for each kStep chunks.
W_FN void copy_step(const Operands& p, const Constants& c, const Place& at, int line) {
#pragma unroll
  for (int s = 0; s < kStep; ++s)
    if (line + s < kEach) copy_line(p, c, at, line + s);
  w_commit();
}

// What frees the eight weights of a word of their zero point, as halves: by column, and by where they stand.
struct Less {
  u32 low[2], high[2];
};
W_FN Less less_of(const u8* zeros) {
  Less less;
#pragma unroll
  for (int e = 0; e < 2; ++e) {
    const u32 zero = kHasZero ? (u32)zeros[e * 8] : (u32)kZero;
    less.low[e] = (Bits<X>::kMinusOne | zero) * 0x10001u;
    less.high[e] = (Bits<X>::kMinusHigh | zero * Bits<X>::kHighStep) * 0x10001u;
  }
  return less;
}

// Operand i of product s of a thread.
template <int kOperand>
W_FN u32 operand_of(u32 word, const Less& less) {
  if constexpr (Bits<X>::kHigh && kOperand % 2 == 1)
    return weights_of<4>(word >> (kOperand / 2 * 8), less.high[1]);
  else
    return weights_of<0>(word >> (kOperand * 4), less.low[kOperand % 2]);
}

typedef float Sums[kOwn][4];

// sums += the products of a line, times its scales; what lies behind the last chunk is none.
template <class Rows>
W_FN void add_line(const Constants& c, const Place& at, const u8* row, int line, Pack<u32, 4> (&x)[2], Sums& sums) {
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  const bool in = kEven || at.first + line < c.chunks;
  const int chunk = in ? at.first + line : c.chunks - 1;
  const u8* const own = row + ((Rows::kFromFirst ? line : chunk) * kChunk + t * 16) * 2;
#pragma unroll
  for (int half = 0; half < 2; ++half)
    if constexpr (Rows::kShared)
      read_active(g < kRows, own + half * kPiece, &x[half]);
    else
      x[half] = *(const Pack<u32, 4>*)(own + half * kPiece);
  const int block = in ? chunk / c.block - at.first / c.block : 0;
#pragma unroll
  for (int o = 0; o < kOwn; ++o) {
    const Pack<u32, 4> bits = *(const Pack<u32, 4>*)(line_at(at, line) + o * kTileBytes);
    const int grid = o * kGrids + block;
    const Less less = less_of(at.grid + kZerosAt + grid * kTile + g);
    float products[4] = {};
#pragma unroll
    for (int s = 0; s < 4; ++s)
      w_mma<X>(products, operand_of<0>(bits.v[s], less), operand_of<1>(bits.v[s], less), operand_of<2>(bits.v[s], less),
               operand_of<3>(bits.v[s], less), x[s / 2].v[s % 2 * 2], x[s / 2].v[s % 2 * 2 + 1]);
    const S* const scale = (const S*)(at.grid + grid * kScaleBytes) + g;
#pragma unroll
    for (int e = 0; e < 4; ++e)
      if (kRows > 1 || e % 2 == 0) sums[o][e] += in ? products[e] * w_get(scale[e / 2 * 8]) : 0.0f;
  }
}

// Result i of the block's: columns side by side, row after row.
struct ResultAt {
  int r, m;
  bool in;
};
W_FN ResultAt result_at(const Constants& c, int tile, int r0, int i) {
  const int r = r0 + i / (kOwn * kTile), m = tile * kTile + i % (kOwn * kTile);
  return {r, m, i < kOwn * kTile * kRows && r < c.rows && m < c.columns};
}

// Where a warp's weights were, its sums are put: row by row, columns side by side.
W_FN void put_sums(const Place& at, const Sums& sums) {
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  w_meet<32, kWarps>((int)threadIdx.x / 32);
  float* const to = (float*)at.lines;
#pragma unroll
  for (int o = 0; o < kOwn; ++o)
#pragma unroll
    for (int e = 0; e < 4; ++e)
      if (const int r = t * 2 + e % 2; r < kRows) to[(r * kOwn + o) * kTile + g + e / 2 * 8] = sums[o][e];
  __syncthreads();
}

template <class Rows>
W_FN void multiply(const Operands& p, const Constants& c, Rows rows) {
  W_SHARED(memory, kSharedBytes);
  w_let_next();
  // Others only keep multiprocessors from getting two: that one would end the step last, in twice the time.
  if (blockIdx.x >= (u32)c.parts) {
    w_after();
    return;
  }
  const int warp = threadIdx.x / 32, tile = (int)(blockIdx.x % (u32)c.slices) * kOwn;
  const int r0 = (int)(blockIdx.x / (u32)c.slices) * kRows;
  const Place at = {tile, warp * kEach, memory + warp * kAhead * kLineBytes, memory + kGridsAt + warp * kGridBytes,
                    memory + kRowsAt + warp * Rows::kBytes};
  copy_grid(p, c, at);
#pragma unroll
  for (int line = 0; line < kAhead; line += kStep) copy_step(p, c, at, line);
  rows.before(p, c, at);
  w_after();
  Given read[kResults];
#pragma unroll
  for (int i = 0; i < kResults; ++i)
    if (const ResultAt of = result_at(c, tile, r0, i * kThreads + (int)threadIdx.x); of.in)
      read[i] = given(p, c, of.r, of.m);
  const u8* const row = rows.after(p, c, at, r0);
  Sums sums = {};
  Pack<u32, 4> x[2] = {};
#pragma unroll 1
  for (int line = 0; line < kEach; line += kStep) {
    w_wait<kAhead / kStep - 1>();
    if (line == 0) w_meet<32, kWarps>(warp);  // scales are of the warp's other threads, too
#pragma unroll
    for (int s = 0; s < kStep; ++s) add_line<Rows>(c, at, row, line + s, x, sums);
    if constexpr (kAhead < kEach)
      copy_step(p, c, at, line + kAhead);
    else
      w_commit();
  }
  put_sums(at, sums);
  const float* const all = (const float*)memory;
#pragma unroll
  for (int k = 0; k < kResults; ++k) {
    const int i = k * kThreads + (int)threadIdx.x;
    const ResultAt of = result_at(c, tile, r0, i);
    if (!of.in) continue;
    float sum = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) sum += all[w * (kAhead * kLineBytes / 4) + i];
    store(p, c, of.r, of.m, epilogue(sum, read[k]));
  }
}
