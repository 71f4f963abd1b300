// LSTM, GRU and RNN after rnn/inputs.cuh: a block for each sequence and direction walks the steps, with its state in
// shared memory; a warp multiplies by a row of the recurrent weights.
// The problem: X; Cell: LstmCell, GruCell or RnnCell; Act0 to Act5: the activations of rnn/functions.cuh, those of the
// second direction last, with kAlpha0, kBeta0 and on; kOneSet: both directions have the same; kThreads; kHidden,
// kGates: rows of r in a direction; kBatchFirst; kReverse; kClip: 0 for none; kLinearBeforeReset; kInputForget; kBias,
// kLengths, kInitialH, kInitialC, kPeepholes, kY, kYH, kYC: which operands are there, the others are not to be touched;
// Constants {batch, steps, directions}.
#pragma once
#include "backends/cuda/kernels/rnn/functions.cuh"

// What the threads of a block share.
struct State {
  float *h, *c;    // of hidden values
  float* gated;    // the state that the reset gate lets pass
  float* from;     // what the state adds to each gate
  float* scratch;  // of kThreads
};

W_FN float clipped(float x) { return kClip > 0 ? w_clip<float>(x, (float)-kClip, (float)kClip) : x; }

// Activation 0, 1 or 2 of direction d.
W_FN float act0(s64 d, float x) {
  x = clipped(x);
  return kOneSet || d == 0 ? Act0::of(x, (float)kAlpha0, (float)kBeta0) : Act3::of(x, (float)kAlpha3, (float)kBeta3);
}

W_FN float act1(s64 d, float x) {
  x = clipped(x);
  return kOneSet || d == 0 ? Act1::of(x, (float)kAlpha1, (float)kBeta1) : Act4::of(x, (float)kAlpha4, (float)kBeta4);
}

W_FN float act2(s64 d, float x) {
  x = clipped(x);
  return kOneSet || d == 0 ? Act2::of(x, (float)kAlpha2, (float)kBeta2) : Act5::of(x, (float)kAlpha5, (float)kBeta5);
}

// state.from[g] = row g of r times `by`, with its bias, for g in [FIRST, END).
template <int FIRST, int END>
W_FN void multiply(const Operands& p, s64 d, const float* by, const State& state) {
  const int lane = threadIdx.x % 32;
  const X* const r = p.r + d * (kGates * kHidden);
  for (int g0 = FIRST; g0 < END; g0 += kThreads / 32) {
    const int g = g0 + threadIdx.x / 32;
    float a = 0;
    if (g < END)
      for (int k = lane; k < kHidden; k += 32) a += by[k] * w_get(r[(s64)g * kHidden + k]);
    a = w_group<kThreads / 32, 32, true>(a, state.scratch, Sum());
    if (g < END && lane == 0) {
      if constexpr (kBias) a += w_get(p.bias[d * (2 * kGates) + kGates + g]);
      state.from[g] = a;
    }
  }
  __syncthreads();
}

// visit(j) for each hidden value of the thread.
template <class Visit>
W_FN void each_hidden(Visit visit) {
  for (int j = threadIdx.x; j < kHidden; j += kThreads) visit(j);
}

// A cell's step: state.from and, with it, h and c. `part`: what the inputs give to each gate. keep(j) where h[j] is
// new.
struct RnnCell {
  template <class Keep>
  static W_M void step(const Operands& p, s64 d, const float* part, const State& s, Keep keep) {
    multiply<0, kGates>(p, d, s.h, s);
    each_hidden([&](int j) {
      s.h[j] = act0(d, part[j] + s.from[j]);
      keep(j);
    });
  }
};

struct GruCell {
  template <class Keep>
  static W_M void step(const Operands& p, s64 d, const float* part, const State& s, Keep keep) {
    multiply<0, kLinearBeforeReset ? 3 * kHidden : 2 * kHidden>(p, d, s.h, s);
    each_hidden([&](int j) {
      const float reset = act0(d, part[kHidden + j] + s.from[kHidden + j]);
      s.gated[j] = kLinearBeforeReset ? reset : reset * s.h[j];
    });
    __syncthreads();
    if constexpr (!kLinearBeforeReset) multiply<2 * kHidden, 3 * kHidden>(p, d, s.gated, s);
    each_hidden([&](int j) {
      const float update = act0(d, part[j] + s.from[j]);
      const float again = kLinearBeforeReset ? s.gated[j] * s.from[2 * kHidden + j] : s.from[2 * kHidden + j];
      s.h[j] = (1.0f - update) * act1(d, part[2 * kHidden + j] + again) + update * s.h[j];
      keep(j);
    });
  }
};

struct LstmCell {
  static W_M float gate(const float* part, const State& s, int which, int j) {
    return part[which * kHidden + j] + s.from[which * kHidden + j];
  }
  // With what the gate sees of the cell's value.
  static W_M float peephole(const Operands& p, s64 d, int which, int j, float gate, float c) {
    if constexpr (kPeepholes)
      return gate + w_get(p.peepholes[d * (3 * kHidden) + which * kHidden + j]) * c;
    else
      return gate;
  }
  template <class Keep>
  static W_M void step(const Operands& p, s64 d, const float* part, const State& s, Keep keep) {
    multiply<0, kGates>(p, d, s.h, s);
    each_hidden([&](int j) {
      const float input = act0(d, peephole(p, d, 0, j, gate(part, s, 0, j), s.c[j]));
      const float forget = kInputForget ? 1.0f - input : act0(d, peephole(p, d, 2, j, gate(part, s, 2, j), s.c[j]));
      const float cell = forget * s.c[j] + input * act1(d, gate(part, s, 3, j));
      const float output = act0(d, peephole(p, d, 1, j, gate(part, s, 1, j), cell));
      s.c[j] = cell;
      s.h[j] = output * act2(d, cell);
      keep(j);
    });
  }
};

// Where a sequence's state begins in the tensors of states.
W_FN s64 place_of_state(const Constants& c, s64 n, s64 d) {
  return (kBatchFirst ? n * c.directions + d : d * c.batch + n) * kHidden;
}

W_FN void begin(const Operands& p, s64 at, const State& s) {
  each_hidden([&](int j) {
    if constexpr (kInitialH)
      s.h[j] = w_get(p.initial_h[at + j]);
    else
      s.h[j] = 0;
    if constexpr (kInitialC)
      s.c[j] = w_get(p.initial_c[at + j]);
    else
      s.c[j] = 0;
  });
  __syncthreads();
}

W_FN s64 length_of(const Operands& p, const Constants& c, s64 n) {
  if constexpr (!kLengths) return c.steps;
  const s64 length = (s64)w_get(p.lengths[n]);
  return length < 0 ? 0 : length > c.steps ? (s64)c.steps : length;
}

W_FN void kernel(const Operands& p, const Constants& c) {
  __shared__ float h[kHidden], cell[kHidden], gated[kHidden], from[kGates], scratch[kThreads];
  const State state{h, cell, gated, from, scratch};
  const s64 n = blockIdx.x % (u32)c.batch, d = blockIdx.x / (u32)c.batch;
  begin(p, place_of_state(c, n, d), state);
  const s64 length = length_of(p, c, n);
  for (s64 s = 0; s < c.steps; ++s) {
    const s64 t = s < length && (kReverse || d == 1) ? length - 1 - s : s;
    X* const y =
        p.y + (kBatchFirst ? (n * c.steps + t) * c.directions + d : (t * c.directions + d) * c.batch + n) * kHidden;
    if (s >= length) {
      if constexpr (kY) each_hidden([&](int j) { y[j] = Put<X>::to(0); });
      continue;
    }
    Cell::step(p, d, p.part + ((d * c.batch + n) * c.steps + t) * kGates, state, [&](int j) {
      if constexpr (kY) y[j] = Put<X>::to(h[j]);
    });
    __syncthreads();
  }
  const s64 at = place_of_state(c, n, d);
  each_hidden([&](int j) {
    if constexpr (kYH) p.y_h[at + j] = Put<X>::to(h[j]);
    if constexpr (kYC) p.y_c[at + j] = Put<X>::to(cell[j]);
  });
}
