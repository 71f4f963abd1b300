// Helpers of this module's tests: plain-loop oracles over logical tensors, and a runner that puts operands into a
// candidate's layouts, flush against an unreadable page.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "backend/kernel.h"
#include "base/cpu_info.h"
#include "base/tensor.h"
#include "base/testing.h"

namespace wootz::cpu::dnn::testing {

// Values with a spread that keeps sums small: floats uniform in [-1, 1], integers over [low, high].
HostTensor random_tensor(std::mt19937_64& rng, DType dtype, const Dims& dims, int64_t low = -100, int64_t high = 100);

TensorDesc desc_of(const HostTensor& tensor, bool constant = false);

// Memory that ends at a page that may not be touched.
class GuardedBuffer {
 public:
  explicit GuardedBuffer(size_t bytes);
  ~GuardedBuffer();
  GuardedBuffer(GuardedBuffer&& other) noexcept;
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  void* map_ = nullptr;
  size_t map_bytes_ = 0, bytes_ = 0;
  void* data_ = nullptr;
};

GuardedBuffer to_layout(const HostTensor& tensor, Layout layout);
HostTensor from_layout(const void* data, DType dtype, const Dims& dims, Layout layout);

// The family's own result in f32 and then the epilogue, by plain loops in double.
HostTensor dense_oracle(const Problem& problem, const std::vector<HostTensor>& inputs, const Dims& output);

struct RunOutcome {
  Status status;
  HostTensor output;
};
// Creates the candidate's kernel, packs, binds to the tensors' extents, runs (twice; the results must be the same
// bits).
RunOutcome run_candidate(const Provider& provider, const Problem& problem, const Candidate& candidate,
                         const std::vector<HostTensor>& inputs, const Dims& output, const Limits& limits = {});

// Every offer against the oracle. Returns how many there were.
int check_offers(const Provider& provider, const Problem& problem, const std::vector<HostTensor>& inputs,
                 const std::string& what);

// Within tolerance; up to `slack` apart (rounding_slack) at the few elements that lie next to a rounding boundary.
void expect_close(const HostTensor& actual, const HostTensor& expected, int64_t reduction, const std::string& what,
                  double slack = 0);

Problem with_layouts(const Problem& problem, const Candidate& candidate);

}  // namespace wootz::cpu::dnn::testing
