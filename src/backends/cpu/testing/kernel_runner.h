// Runs a problem on our providers in every layout that it offers and for both instruction sets, and compares with an
// oracle. Tensors are made here in row-major order and packed into the offered layouts.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "backend/kernel.h"
#include "base/tensor.h"
#include "base/testing.h"

namespace wootz::cpu::rig {

inline uint64_t seed() { return test_seed(); }

// Floats normal with the given deviation, integers uniform in [low, high].
HostTensor random_tensor(std::mt19937_64& rng, DType dtype, const Dims& dims, double low = -8, double high = 8);

TensorDesc desc_of(const HostTensor& tensor, bool constant = false);
TensorDesc desc(DType dtype, const Dims& dims, bool constant = false);

// Bytes of a row-major tensor in a layout and back.
std::vector<std::byte> to_layout(const HostTensor& tensor, Layout layout);
HostTensor from_layout(const void* data, Layout layout, DType dtype, const Dims& dims);

struct Options {
  double tolerance = 1e-5;  // relative to the largest expected value; 0: exact
  double noise = 0;         // absolute difference that counts as none: what cancellation leaves
  bool in_place = true;     // also try with the output in the input's memory where the kernel says so
  bool misaligned = false;  // operands at odd multiples of their element size
  bool expect_offer = true;
  const char* kernel = nullptr;  // only kernels whose name contains this
};

// Outputs of one run, in row-major order.
Result<std::vector<HostTensor>> run_candidate(const Problem& problem, const Candidate& offer,
                                              const std::vector<HostTensor>& inputs, const Options& options,
                                              bool in_place);
// Ours for it: chains have their own.
const Provider& provider_of(const Problem& problem);
std::vector<Candidate> offers_for(const Problem& problem, const char* isa_cap);

// Every offer for avx2 and avx512 (where the machine has it), with 1 and with 3 threads.
void check(const Problem& problem, const std::vector<HostTensor>& inputs, const std::vector<HostTensor>& expected,
           const Options& options = {});

// An epilogue over a result of type `acc` and one more operand of its shape: relu(result * 0.5 + operand), as `out`.
PointwiseExpr test_epilogue(DType acc, DType out);
// The oracle of an epilogue: applied to the family's own result (held as f64) and the operands after it, which have
// the result's shape.
HostTensor apply_epilogue(const PointwiseExpr& expr, const HostTensor& result, const std::vector<HostTensor>& operands);

// Converts element by element (through f64).
HostTensor converted(const HostTensor& tensor, DType type);

}  // namespace wootz::cpu::rig
