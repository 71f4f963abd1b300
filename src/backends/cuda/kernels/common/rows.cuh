// Rows of elements, each shared by a group of threads.
// The problem: X, A: type of x in memory, and of sums; kRows, kRowThreads: rows of a block, threads of a row;
// kNeighbours: the threads of a row are neighbours, not the rows; kInRegisters: elements of a row that a thread has, if
// it can keep them, or 0; Constants {count: of rows, length: of a row};
//   Kept kept(c, row)        where the row begins in each operand
//   Source source(c, r)      where its element r is in x, from there
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

constexpr int kThreads = kRows * kRowThreads;

struct Thread {
  int number;  // within the row
  s64 row;
  bool live;  // or there is no such row: it has no element of the first one, and meets the others at barriers
};
constexpr int kBeyond = 1 << 30;  // of any row, whose elements a thread has in registers or in a loop

W_FN Thread this_thread(const Constants& c) {
  const int t = threadIdx.x;
  const s64 row = (s64)blockIdx.x * kRows + (kNeighbours ? t / kRowThreads : t % kRows);
  const bool live = row < c.count;
  return {live ? (kNeighbours ? t % kRowThreads : t / kRows) : kBeyond, live ? row : 0, live};
}

// Joins what the threads of a row have.
template <class Join>
W_FN A over_row(A a, A* shared, Join join) {
  return w_group<kRows, kRowThreads, kNeighbours>(a, shared, join);
}

// A thread's elements of its row.
struct Elements {
  A in_registers[kInRegisters > 0 ? kInRegisters : 1];

  // Reads those that are kept.
  W_M void read(const Operands& p, const Constants& c, const Kept& at, int thread) {
    if constexpr (kInRegisters > 0) {
#pragma unroll
      for (int i = 0; i < kInRegisters; ++i) {
        const int r = thread + i * kRowThreads;
        in_registers[i] = 0;
        if (r < c.length) in_registers[i] = w_get(p.x[at.x + source(c, r).x]);
      }
    }
  }
  // visit(number of the element, its value)
  template <class Visit>
  W_M void each(const Operands& p, const Constants& c, const Kept& at, int thread, Visit visit) const {
    if constexpr (kInRegisters > 0) {
#pragma unroll
      for (int i = 0; i < kInRegisters; ++i) {
        const int r = thread + i * kRowThreads;
        if (r < c.length) visit(r, in_registers[i]);
      }
    } else {
      for (int r = thread; r < c.length; r += kRowThreads) visit(r, (A)w_get(p.x[at.x + source(c, r).x]));
    }
  }
};
