// Few rows of 16-bit floats times weights of 4 bits, on tensor cores. A block makes kOwn tiles of 16 columns of the
// result, and its warps divide the sum: each takes kEach chunks of 64 elements, kStep of them at a time. They are on
// their way to shared memory before the step ahead has ended, kAhead chunks of a warp at once and, where that is not
// all, others as places become free; every thread reads only what it has copied itself. A thread's part of a chunk is
// 16 bytes for each tile: of four products, the eight weights that it holds in each as w_mma() has 16-bit elements. Of
// a row, it takes 16 neighbours of a chunk for them: which elements of a sum meet does not matter as long as both
// operands agree. The problem: X; S, the scales' type; kThreads, kOwn, kEach, kStep, kAhead; kGrids: blocks that a
// warp's chunks may be of; kEven: no warp's chunks end behind the sum; kRows, 8 at most; kHasZero, and without them
// kZero, which stands for 0 in the packed weights; kSharedBytes; Constants {columns, depth, rows; chunks: of a column;
// blocks: of a column; block: chunks that share a scale; tiles: of columns; slices: blocks of threads for the columns;
// parts: of threads that have a part of the result}
//   const u8* zeros(p)               packed zero points, if there are any
//   Given given(p, c, r, m), epilogue(s, given)   what the expression after the sum reads, and the expression
//   store(p, c, r, m, value)         into the result that column m is of
// Rows, where a warp's rows of X come from: before(p, c, r0) while nothing of them is there, and after(p, c, at, r0)
// when they are, which gives what this thread reads of those from r0 on; any one behind the last.
// And Rows::Products, how they are multiplied: add<Rows>(c, at, row, line, sums) for kLines lines from one on, and
// put(at, sums), which puts a warp's sums where its weights were: row by row, columns side by side.
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

// From shared memory, for threads that are active: others keep what they have, which is faster than to read the same.
#ifdef WOOTZ_ON_HOST
W_FN void read_active(bool active, const u8* from, Pack<u32, 4>* to) {
  if (active) *to = *(const Pack<u32, 4>*)from;
}
#else
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

typedef float Sums[kOwn][4];

// Result i of the block's: columns side by side, row after row.
struct ResultAt {
  int r, m;
  bool in;
};
W_FN ResultAt result_at(const Constants& c, int tile, int r0, int i) {
  const int r = r0 + i / (kOwn * kTile), m = tile * kTile + i % (kOwn * kTile);
  return {r, m, i < kOwn * kTile * kRows && r < c.rows && m < c.columns};
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
  rows.before(p, c, r0);
  w_after();
  Given read[kResults];
#pragma unroll
  for (int i = 0; i < kResults; ++i)
    if (const ResultAt of = result_at(c, tile, r0, i * kThreads + (int)threadIdx.x); of.in)
      read[i] = given(p, c, of.r, of.m);
  const u8* const row = rows.after(p, c, at, r0);
  Sums sums = {};
  typename Rows::Products products;
#pragma unroll 1
  for (int line = 0; line < kEach; line += kStep) {
    w_wait<kAhead / kStep - 1>();
    if (line == 0) w_meet<32, kWarps>(warp);  // scales are of the warp's other threads, too
#pragma unroll
    for (int s = 0; s < kStep; s += Rows::Products::kLines) products.template add<Rows>(c, at, row, line + s, sums);
    if constexpr (kAhead < kEach)
      copy_step(p, c, at, line + kAhead);
    else
      w_commit();
  }
  w_meet<32, kWarps>(warp);
  products.put(at, sums);
  __syncthreads();
  const float* const all = (const float*)memory;
#pragma unroll
  for (int k = 0; k < kResults; ++k) {
    const int i = k * kThreads + (int)threadIdx.x;
    const ResultAt of = result_at(c, tile, r0, i);
    if (!of.in) continue;
    float sums[2] = {};  // which is less of a chain
#pragma unroll
    for (int w = 0; w < kWarps; ++w) sums[w % 2] += all[w * (kAhead * kLineBytes / 4) + i];
    store(p, c, of.r, of.m, epilogue(sums[0] + sums[1], read[k]));
  }
}
