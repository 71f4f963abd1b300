// Products of lines of which each four places hold two elements, with lines of all of them, by four warps together:
// wgmma.sp of sm_90a (PTX ISA, "wgmma.mma_async.sp"), and the emulator's own. A stage has 128 places of a sum: 64
// elements of a line on the first side, whose places are the choices; two pieces of 64 elements on the other. A team
// multiplies 128 lines, of which a thread gets the sums of four, as it does with wgmma of 64 lines twice. The problem:
// w_sparse_mma().
#pragma once
#include "backends/cuda/kernels/gemm/feed.cuh"

constexpr int kChoiceWords = 4;                                      // of a thread and stage
constexpr int kChoiceLines = kTeam * kChoiceWords * 4 / kLineBytes;  // of a team

// Where a thread's are, of a team's choices as the unit for tensors brings them. Word set * 2 + s / 2 is of step s of
// 32 places. Of the four threads that have the same lines the first two are asked at even steps, for 16 places each:
// two bits for an element, four elements for each four bits in order, a half of the word for lines l and l + 8.
W_FN int w_choices_of(int thread) { return w_piece_of(thread / 8, thread % 8); }
#ifndef WOOTZ_ON_HOST
typedef Pack<u32, kChoiceWords> Choices;
W_FN Choices w_choices(const u8* of_team) { return *(const Choices*)(of_team + w_choices_of(threadIdx.x % kTeam)); }

// acc = or, with `on`, += a stage's products of 128 lines at `values` by lines of two pieces, kApart bytes apart; on
// their way until w_wide_left(), and the choices are theirs until then.
template <int kApart, int kEights>
W_FN void w_sparse_products(const u8* values, const u8* others, Choices& choices, int, int, int on,
                            float (&acc)[2][kEights][4]) {
  const u64 first = w_lines(values), second = w_lines(values + 64 * kLineBytes), own = w_lines(others),
            next = w_lines(others + kApart);
#pragma unroll
  for (int i = 0; i < kChoiceWords; ++i) asm volatile("" : "+r"(choices.v[i])::"memory");
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (int pair = 0; pair < 2; ++pair) {
    const u64 of = pair == 0 ? own : next;
    w_sparse_mma<0>(acc[0], first + pair * 4, of, choices.v[pair], on | pair);
    w_sparse_mma<0>(acc[1], second + pair * 4, of, choices.v[2 + pair], on | pair);
    w_sparse_mma<1>(acc[0], first + pair * 4 + 2, of + 4, choices.v[pair], 1);
    w_sparse_mma<1>(acc[1], second + pair * 4 + 2, of + 4, choices.v[2 + pair], 1);
  }
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
#else
typedef const u8* Choices;
W_FN Choices w_choices(const u8* of_team) {
  W_EVENT(Read, of_team + w_choices_of(threadIdx.x % kTeam), kChoiceWords * 4, (long)__builtin_return_address(0));
  return of_team;
}

// Where the 64 elements of a line of the first side stand among the stage's places.
W_UNSEEN W_FN void w_places_of(Choices choices, int line, u8 (&to)[kPlaces]) {
  const int set = line / 64, half = line % 16 / 8, first = line % 64 / 16 * 32 + line % 8 * 4;
  for (int i = 0; i < kPlaces; ++i) {
    const int step = i / 16, four = i % 16 / 2, thread = first + step % 2 * 2 + four / 4;
    const u32 word = ((const u32*)(choices + w_choices_of(thread)))[set * 2 + step / 2];
    to[i] = (u8)(step * 32 + four * 4 + (int)(word >> (half * 16 + four % 4 * 4 + i % 2 * 2) & 3));
  }
}
template <int kApart, int kEights>
W_FN void w_sparse_products(const u8* values, const u8* others, Choices& choices, int line_count, int other_count,
                            int on, float (&acc)[2][kEights][4]) {
  const int lane = threadIdx.x % 32, own = threadIdx.x / 32 % 4 * 16 + lane / 4;
  float w[4][kPlaces];
  u8 places[4][kPlaces];
  W_EVENT(Products, nullptr, 1, 0);
  for (int i = 0; i < 4 && line_count > 0; ++i) {
    const int line = own + i / 2 * 64 + i % 2 * 8;
    w_read_line(values, line, w[i]);
    w_places_of(choices, line, places[i]);
  }
  for (int n = 0; n < kEights * 2; ++n) {
    const int other = n / 2 * 8 + lane % 4 * 2 + n % 2;
    const bool is_there = line_count > 0 && other < other_count;
    float x[2][kPlaces];
    for (int piece = 0; piece < 2 && is_there; ++piece) w_read_line(others + piece * kApart, other, x[piece]);
    for (int i = 0; i < 4; ++i) {
      float& sum = acc[i / 2][n / 2][i % 2 * 2 + n % 2];
      if (!on) sum = 0;
      if (!is_there) continue;
      float parts[4] = {0, 0, 0, 0};  // none waits for the other
      for (int k = 0; k < kPlaces; ++k) parts[k % 4] += w[i][k] * x[places[i][k] / kPlaces][places[i][k] % kPlaces];
      sum += parts[0] + parts[1] + (parts[2] + parts[3]);
    }
  }
  W_EVENT(Products, nullptr, 0, 0);
  W_EVENT(ProductsDone, nullptr, 0, 0);
}
#endif
