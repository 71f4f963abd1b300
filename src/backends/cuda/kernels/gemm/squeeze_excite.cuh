// The mean of an image, channels last, and the two products behind it, by a cluster of blocks for each image. A block
// sums some of the channels over some of the rows, and multiplies what it has by its columns of the first matrix: what
// the blocks have of each hidden value then goes to all of them, which is the one time that they wait for each other.
// Then each makes some of the results. Both matrices are on their way to shared memory before the kernel ahead has
// ended. Order of sums: by the block's shape alone.
// What is summed may be sums already, so that there are fewer rows than pixels. With kScaled all values are integers of
// 8 bits, which floats add up without rounding: the mean, after a factor kScale, and hidden values are quantized, and
// columns of either matrix have a scale each.
// The problem: X; S: of what is summed; Part: of what blocks add up, int or float; kThreads; kVector: channels in 16
// bytes of X; kCluster; kGroups: into which the channels are divided, so that kCluster / kGroups blocks share the rows;
// kOwn: packs of kVector channels of a group; kDown: rows that are read at once; kHidden; kHiddenVector: so many of
// them are read at once; kBatch: rows that a thread has under way at once; kResults: of a block; kSharedBytes;
// Constants {packs: of all channels; length: rows; most: rows of a block; pixels: of the image; results: of all};
//   float first_bias(p, h), second_bias(p, m)   0 where there is none
//   float first_scale(p, h), second_scale(p, m) with kScaled
//   <stored> quantized_mean(s)                  with kScaled: the expression on the mean
//   <stored> hidden(s)                          that on a hidden value
//   <stored> result(s)                          and on a result
#pragma once
#include "backends/cuda/kernels/gemm/bars.cuh"

constexpr int kColumns = kOwn * kVector;
constexpr int kRead = sizeof(S) == 1 ? 8 : 16 / (int)sizeof(S), kAcross = kColumns / kRead;
constexpr int kJoin = 4;  // threads that add up a column
// Of a row of sums: four rows by eight columns, which a warp reads at once, are in different banks.
constexpr int kPitch = (kColumns + 23) / 32 * 32 + 8;

// So many neighbouring threads share each of `count` sums, as many as all of them at once allow.
W_FN constexpr int threads_each(int count) {
  int each = 1;
  while (each < 32 && each * 2 * count <= kThreads) each *= 2;
  return each;
}
constexpr int kOfHidden = threads_each(kHidden), kOfResult = threads_each(kResults);

// What a block has in shared memory; each part begins at 16 bytes.
struct Place {
  X *first, *second;                  // its columns of the first matrix, its rows of the second
  float *sums, *mean, *got, *hidden;  // of rows; of its channels; of hidden values by block; these added up
  float *first_bias, *second_bias;
  u64* come;  // tells that `got` is there
  float *first_scale, *second_scale;
};

W_FN constexpr int by_sixteen(int bytes) { return (bytes + 15) / 16 * 16; }

W_FN Place place_in(u8* shared) {
  Place at;
  at.first = (X*)shared;
  at.second = (X*)(shared += by_sixteen(kHidden * kColumns * (int)sizeof(X)));
  at.sums = (float*)(shared += by_sixteen(kResults * kHidden * (int)sizeof(X)));
  at.mean = (float*)(shared += kDown * kPitch * 4);
  at.got = (float*)(shared += by_sixteen(kColumns * 4));
  at.hidden = (float*)(shared += by_sixteen(kCluster * kHidden * 4));
  at.first_bias = (float*)(shared += by_sixteen(kHidden * 4));
  at.second_bias = (float*)(shared += by_sixteen(kHidden * 4));
  at.come = (u64*)(shared += by_sixteen(kResults * 4));
  at.first_scale = (float*)(shared += 16);
  at.second_scale = (float*)(shared += by_sixteen(kHidden * 4));
  return at;
}

W_FN void load_weights(const Operands& p, const Constants& c, int rank, const Place& at) {
  const int first = rank % kGroups * kOwn;
#pragma unroll 4
  for (int i = threadIdx.x; i < kHidden * kOwn; i += kThreads) {
    const int h = i / kOwn, pack = first + i % kOwn;
    const bool in = pack < c.packs;
    w_copy16(at.first + i * kVector, p.w1 + (in ? ((s64)h * c.packs + pack) * kVector : 0), in);
  }
  const s64 from = (s64)rank * kResults * kHidden, all = (s64)c.results * kHidden;
#pragma unroll 4
  for (int i = threadIdx.x; i < kResults * kHidden / kVector; i += kThreads) {
    const s64 element = from + i * kVector;
    const bool in = element < all;
    w_copy16(at.second + i * kVector, p.w2 + (in ? element : 0), in);
  }
  w_commit();
#pragma unroll 1
  for (int h = threadIdx.x; h < kHidden; h += kThreads) {
    at.first_bias[h] = first_bias(p, h);
    if constexpr (kScaled) at.first_scale[h] = first_scale(p, h);
  }
#pragma unroll 1
  for (int i = threadIdx.x; i < kResults; i += kThreads) {
    const int m = rank * kResults + i;
    at.second_bias[i] = m < c.results ? second_bias(p, m) : 0;
    if constexpr (kScaled) at.second_scale[i] = m < c.results ? second_scale(p, m) : 0;
  }
}

// What a channel's sum comes to.
W_FN float mean_of(const Constants& c, float s) {
  if constexpr (kScaled) return (float)w_get(quantized_mean(s * (float)kScale / (float)c.pixels));
  return s / (float)c.pixels;
}

// The block's channels, each summed over its rows by kDown threads.
W_FN void sum_rows(const S* x, const Constants& c, int rank, const Place& at) {
  const int across = threadIdx.x % kAcross, down = threadIdx.x / kAcross;
  if (down >= kDown) return;
  const int channels = c.packs * kVector, channel = rank % kGroups * kColumns + across * kRead;
  const int begin = rank / kGroups * c.most;
  const int end = channel >= channels ? 0 : begin + c.most < c.length ? begin + c.most : c.length;
  const S* const from = x + channel;
  float a[kRead];
#pragma unroll
  for (int k = 0; k < kRead; ++k) a[k] = 0;
#pragma unroll 1
  for (int first = begin + down; first < end; first += kDown * kBatch) {
    Pack<S, kRead> v[kBatch];
#pragma unroll
    for (int j = 0; j < kBatch; ++j) {
      const int r = first + j * kDown;
      v[j] = r < end ? *(const Pack<S, kRead>*)(from + (s64)r * channels) : Pack<S, kRead>{};
    }
#pragma unroll
    for (int j = 0; j < kBatch; ++j)
#pragma unroll
      for (int k = 0; k < kRead; ++k) a[k] += w_get(v[j].v[k]);
  }
  float* const to = kDown == 1 ? at.mean + across * kRead : at.sums + down * kPitch + across * kRead;
  const float scale = kDown == 1 && !kScaled ? 1 / (float)c.pixels : 1;
  if constexpr (kDown == 1 && kScaled)
#pragma unroll
    for (int k = 0; k < kRead; ++k) a[k] = mean_of(c, a[k]);
#pragma unroll
  for (int k = 0; k < kRead; k += 4)
    *(Pack<float, 4>*)(to + k) = {a[k] * scale, a[k + 1] * scale, a[k + 2] * scale, a[k + 3] * scale};
}

template <int kOf>
W_FN float over_neighbours(float s) {
#pragma unroll
  for (int m = kOf / 2; m > 0; m /= 2) s += __shfl_xor_sync(0xffffffffu, s, m);
  return s;
}

// Each channel's part of the mean, where several threads have sums of it.
W_FN void join_rows(const Constants& c, const float* sums, float* mean) {
  const int part = threadIdx.x % kJoin;
#pragma unroll 1
  for (int first = 0; first < kColumns; first += kThreads / kJoin) {
    const int column = first + threadIdx.x / kJoin;
    float s = 0;
    if (column < kColumns)
#pragma unroll 8
      for (int r = part; r < kDown; r += kJoin) s += sums[r * kPitch + column];
    s = over_neighbours<kJoin>(s);
    if (column < kColumns && part == 0) mean[column] = mean_of(c, s);
  }
}

// What a thread has of the sum of `count` packs of values times a row of weights: every kEach-th from `part` on.
template <int kEach, int kCount, int kWide>
W_FN float times_row(const float* values, const X* row, int part) {
  constexpr int kRead = kWide < 4 ? kWide : 4;
  float a[kRead];
#pragma unroll
  for (int i = 0; i < kRead; ++i) a[i] = 0;
#pragma unroll 8
  for (int j = 0; j < (kCount + kEach - 1) / kEach; ++j) {
    const int q = part + j * kEach;
    const bool in = q < kCount;  // no branch, so that all reads are under way
    const Pack<X, kWide> w = in ? *(const Pack<X, kWide>*)(row + q * kWide) : Pack<X, kWide>{};
#pragma unroll
    for (int k = 0; k < kWide; k += kRead) {
      const Pack<float, kRead> v = *(const Pack<float, kRead>*)(values + (in ? q : 0) * kWide + k);
#pragma unroll
      for (int i = 0; i < kRead; ++i) a[i] += v.v[i] * w_get(w.v[k + i]);
    }
  }
  float s = a[0];
#pragma unroll
  for (int i = 1; i < kRead; ++i) s += a[i];
  return s;
}

// The block's part of each hidden value, to all blocks.
W_FN void multiply_means(int rank, const Place& at) {
  const int part = threadIdx.x % kOfHidden;
#pragma unroll 1
  for (int first = 0; first < kHidden; first += kThreads / kOfHidden) {
    const int h = first + threadIdx.x / kOfHidden;
    float s = h < kHidden ? times_row<kOfHidden, kOwn, kVector>(at.mean, at.first + h * kColumns, part) : 0;
    s = over_neighbours<kOfHidden>(s);
    if (h < kHidden)
#pragma unroll
      for (int block = part; block < kCluster; block += kOfHidden)
        w_send<kSharedBytes>((Part*)at.got + rank * kHidden + h, at.come, block, Pack<Part, 1>{(Part)s});
  }
}

W_FN void add_hidden(const Place& at) {
#pragma unroll 1
  for (int h = threadIdx.x; h < kHidden; h += kThreads) {
    Part s = 0;
#pragma unroll
    for (int block = 0; block < kCluster; ++block) s += ((const Part*)at.got)[block * kHidden + h];
    at.hidden[h] = (float)w_get(hidden((kScaled ? w_times((float)s, at.first_scale[h]) : (float)s) + at.first_bias[h]));
  }
}

W_FN void store_results(const Operands& p, const Constants& c, int image, int rank, const Place& at) {
  const int part = threadIdx.x % kOfResult;
#pragma unroll 1
  for (int first = 0; first < kResults; first += kThreads / kOfResult) {
    const int own = first + threadIdx.x / kOfResult, m = rank * kResults + own;
    const bool in = own < kResults && m < c.results;
    float s =
        in ? times_row<kOfResult, kHidden / kHiddenVector, kHiddenVector>(at.hidden, at.second + own * kHidden, part)
           : 0;
    s = over_neighbours<kOfResult>(s);
    if constexpr (kScaled) s = w_times(s, own < kResults ? at.second_scale[own] : 0.f);
    if (in && part == 0) p.y[(s64)image * c.results + m] = result(s + at.second_bias[own]);
  }
}

W_FN void kernel(const Operands& p, const Constants& c) {
  W_SHARED(shared, kSharedBytes);
  const int rank = blockIdx.z % kCluster, image = blockIdx.z / kCluster;
  const Place at = place_in(shared);
  if (threadIdx.x == 0) {
    w_bar_init(at.come, 1);
    w_bars_are_there();
    w_bar_expect(at.come, kCluster * kHidden * 4);
  }
  w_cluster_begin();
  load_weights(p, c, rank, at);
  w_begin();
  sum_rows(p.x + (s64)image * c.length * c.packs * kVector, c, rank, at);
  if constexpr (kDown > 1) {
    __syncthreads();
    join_rows(c, at.sums, at.mean);
  }
  w_wait<0>();
  __syncthreads();
  w_cluster_wait();  // until all blocks are there
  multiply_means(rank, at);
  w_bar_wait(at.come, 0);
  add_hidden(at);
  __syncthreads();
  store_results(p, c, image, rank, at);
}
