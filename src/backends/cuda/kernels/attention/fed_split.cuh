// The same as attention/fed.cuh for few heads, rows and keys, of which the two blocks of a cluster take half each: a
// block multiplies a tile of 64 query rows by kKeys keys and values of its own, which come all at once, and finds
// exponentials relative to the largest score among these. A thread then has a part of two rows; one is put together in
// each block, of what the two threads of the same number have, which one sends by a barrier that counts bytes
// (gemm/bars.cuh). The problem: that of attention/fed_parts.cuh, with one team and one stage; kCluster of 2; Constants
// {groups: tiles of a head}.
#pragma once
#include "backends/cuda/kernels/attention/fed_parts.cuh"

constexpr int kQueryBytes = kParts * kTileBytes, kKeyBytes = kParts * kPartBytes;
constexpr int kValueBytes = kValueParts * kPartBytes;
constexpr int kOwnGroups = kValueSize / 8, kQuads = kOwnGroups / 2;  // of a thread's row
typedef Pack<float, 4> Quad;
typedef Pack<float, 2> Note;  // the largest score, and a thread's part of the sum of exponentials relative to it
constexpr int kBlockBytes = kTeam * (kQuads * (int)sizeof(Quad) + (int)sizeof(Note));  // that come from a block
constexpr int kAllBytes = kAligned + kQueryBytes + kKeyBytes + kValueBytes + kCluster * kBlockBytes + 3 * 8;
// Parts are at the same place in all blocks of the emulator as well.
constexpr int kSharedBytes = (kAllBytes + kAligned - 1) / kAligned * kAligned;
static_assert(kTeams == 1 && kCluster == 2);

struct Place {
  u8 *queries, *keys, *values;
  Quad* sums;
  Note* notes;
  u64 *keys_there, *values_there, *sums_there;
  W_M Quad* sums_of(int block, int i) const { return sums + (block * kQuads + i) * kTeam + threadIdx.x; }
  W_M Note* note_of(int block) const { return notes + block * kTeam + threadIdx.x; }
};

W_FN Place place_in(u8* memory) {
  Place at;
  at.queries = memory + (-(u64)memory & (kAligned - 1));
  at.keys = at.queries + kQueryBytes;
  at.values = at.keys + kKeyBytes;
  at.sums = (Quad*)(at.values + kValueBytes);
  at.notes = (Note*)(at.sums + kCluster * kQuads * kTeam);
  at.keys_there = (u64*)(at.notes + kCluster * kTeam);
  at.values_there = at.keys_there + 1;
  at.sums_there = at.keys_there + 2;
  return at;
}

W_FN void begin_bars(const Operands& p, const Place& at) {
  w_bar_init(at.keys_there, 1);
  w_bar_init(at.values_there, 1);
  w_bar_init(at.sums_there, 1);
  w_bars_are_there();
  w_bar_expect(at.sums_there, (kCluster - 1) * kBlockBytes);
  w_want(p.q);
  w_want(p.k);
  w_want(p.v);
}

W_FN void fetch(const Operands& p, const Place& at, const Lines& head, int row, int key) {
  w_bar_expect(at.keys_there, kQueryBytes + kKeyBytes);
  fetch_keys<kParts>(at.keys, p.k, at.keys_there, head, key);
  fetch_queries(at.queries, p.q, at.keys_there, head, row);
  w_bar_expect(at.values_there, kValueBytes);
  fetch_keys<kValueParts>(at.values, p.v, at.values_there, head, key);
}

// What a thread has of row r goes to block r.
W_FN void share(const Place& at, int rank, const float (&top)[2], const float (&sum)[2], const Sums& acc) {
#pragma unroll
  for (int r = 0; r < kCluster; ++r) {
    const Note note = {top[r], sum[r]};
    if (r == rank)
      *at.note_of(rank) = note;
    else
      w_send<kSharedBytes>((float*)at.note_of(rank), at.sums_there, r, note);
#pragma unroll
    for (int i = 0; i < kQuads; ++i) {
      const float(&one)[4] = acc[i * 2], (&two)[4] = acc[i * 2 + 1];
      const Quad quad = {one[r * 2], one[r * 2 + 1], two[r * 2], two[r * 2 + 1]};
      if (r == rank)
        *at.sums_of(rank, i) = quad;
      else
        w_send<kSharedBytes>((float*)at.sums_of(rank, i), at.sums_there, r, quad);
    }
  }
}

// What the blocks have of a thread's row, relative to the largest score of all.
struct Whole {
  float sum, values[kOwnGroups * 2];
};
W_FN Whole join(const Place& at) {
  Note notes[kCluster];
  float top = -W_INF;
#pragma unroll
  for (int block = 0; block < kCluster; ++block) {
    notes[block] = *at.note_of(block);
    top = fmaxf(top, notes[block].v[0]);
  }
  const float less = less_of(top);
  Whole all = {};
#pragma unroll
  for (int block = 0; block < kCluster; ++block) {
    const float keep = w_exp2_near(notes[block].v[0] * kFactor - less);
    all.sum += notes[block].v[1] * keep;
#pragma unroll
    for (int i = 0; i < kQuads; ++i) {
      const Quad quad = *at.sums_of(block, i);
#pragma unroll
      for (int e = 0; e < 4; ++e) all.values[i * 4 + e] += quad.v[e] * keep;
    }
  }
  return all;
}

// A warp's eight rows, by way of where its queries were: a thread has two neighbours, and stores 16 bytes.
W_FN void store(const Operands& p, const Constants& c, const Lines& head, int first, const Whole& all, u8* own) {
  const int lane = threadIdx.x % 32;
  const int row = first + lane / 4, in = row < c.rows ? row : 0;
  float sum = all.sum;
#pragma unroll
  for (int m = 1; m < 4; m *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, m);
  const bool none = sees_nothing(sum);
  const float by = 1.0f / sum;
  w_meet<32, 4>(0);  // nobody reads queries any more
#pragma unroll
  for (int n = 0; n < kOwnGroups; ++n) {
    Y y[2];
#pragma unroll
    for (int e = 0; e < 2; ++e)
      y[e] = epilogue(p, c, none ? 0.0f : all.values[n * 2 + e] * by, head.b, head.h, in, n * 8 + lane % 4 * 2 + e);
    *(u32*)(own + n / 8 * 1024 + w_piece_of(lane / 4, n % 8) + lane % 4 * 4) = (u32)y[0].x | (u32)y[1].x << 16;
  }
  w_meet<32, 4>(0);
  Y* const to = p.y + ((s64)head.b * c.y_batch + (s64)head.h * c.y_head);
#pragma unroll
  for (int from = 0; from < 8 * kOwnGroups; from += 32) {
    const int line = (from + lane) / kOwnGroups, n = (from + lane) % kOwnGroups;
    if (first + line < c.rows)
      *(Pack<u32, 4>*)(to + (s64)(first + line) * c.y_row + n * 8) =
          *(const Pack<u32, 4>*)(own + n / 8 * 1024 + w_piece_of(line, n % 8));
  }
}

W_FN void kernel(const Operands& p, const Constants& c) {
  W_SHARED(memory, kSharedBytes);
  const Place at = place_in(memory);
  const int rank = blockIdx.z, warp = threadIdx.x / 32, key = rank * kKeys;
  const Lines head = lines_of(c, blockIdx.x / c.groups);
  const int tile = blockIdx.x % c.groups * kTileRows, row = tile + warp * 16;
  const int own = row + threadIdx.x % 32 / 4;
  if (threadIdx.x == 0) begin_bars(p, at);
  w_cluster_begin();
  __syncthreads();
  w_begin();
  if (threadIdx.x == 0) fetch(p, at, head, tile, key);
  Scores s, mask;
  if constexpr (kAddsMask) load_mask(p, c, head, own, key, mask);
  float top[2], sum[2];
  w_cluster_wait();  // until all blocks are there: nothing can be done yet
  w_bar_wait(at.keys_there, 0);
  multiply_keys(at.queries, at.keys, c.rows - tile, c.keys - key, s);
  settle(s);
  w_wide_left<0>();
  settle(s);
  see<false>(c, own, key, s, [&](int n, int e, int, int) { return group_of(mask, n)[e]; });
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    top[r] = top_of(s, r, -W_INF);
    sum[r] = raise_row(s, r, less_of(top[r]), 0);
  }
  u32 a[kSteps][4];
  Sums acc[1];
  as_rows(s, a);
  w_bar_wait(at.values_there, 0);
  w_turned_products(a, at.values, kPartBytes, c.keys - key, 0, acc[0]);
  w_settle_sums(acc);
  w_wide_left<0>();
  w_settle_sums(acc);
  w_settle_words(a);
  share(at, rank, top, sum, acc[0]);
  w_bar_wait(at.sums_there, 0);
  store(p, c, head, row + rank * 8, join(at), at.queries + warp * 16 * kLineBytes);
}
