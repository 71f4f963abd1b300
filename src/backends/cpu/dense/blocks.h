// How a product or a convolution is divided: into units (rows x columns of the result) for the threads, and the sums of
// a unit into parts whose weights stay in the first-level cache.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "backends/cpu/dense/bf16_end.h"
#include "backends/cpu/dense/tile.h"
#include "backends/cpu/epilogue.h"
#include "backends/cpu/kernel_entry.h"
#include "base/thread_pool.h"

namespace wootz::cpu {

// How products are summed: by vectors, by VPMADDUBSW with weights in groups (quads_pack.h), by half the multiplications
// (crossed_tile.cpp), by VNNI, by tiles of AMX.
enum class Dots : uint8_t { kVectors, kQuads, kCrossed, kVnni, kAmx };

struct DenseShape {
  int64_t rows = 0, columns = 0, taps = 1, depth = 0;  // depth: elements of a tap
  double flops() const {
    return 2.0 * static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(taps * depth);
  }
};

// A part of the result that one thread computes.
struct DenseUnit {
  int64_t row = 0, rows = 0, column = 0, columns = 0;
};

struct DenseBlocks {
  struct Part {
    int64_t tap = 0, taps = 1, first = 0, length = 0;  // of a DenseTile
    int64_t offset = 0;                                // in a panel of weights, in elements of a column
  };
  std::vector<Part> parts;
  int64_t unit_rows = 0, unit_columns = 0, row_units = 0, column_units = 0;
  int64_t units() const { return row_units * column_units; }
  DenseUnit unit(const DenseShape& shape, int64_t index) const;
};
DenseBlocks divide(const DenseShape& shape, const DenseGrain& grain, int threads);

// What follows the sums.
struct DenseEnd {
  bool direct = false;  // the tile itself finishes: nothing, a residual of the result's shape, bounds or an activation
  int added = -1;       // that residual's input
  bool added_last = false;  // after the activation
  bool bounded = false;
  float low = 0, high = 0;
  Activation activation = Activation::kNone;
  float alpha = 0, beta = 0;  // the activation's
  // What a tile of BF16 needs of it beside addresses and types.
  void set(Bf16End* tile) const;
};
DenseEnd read_end(const Problem& problem);

// Weights as the tile reads them. `read(column, tap, element)` gives one.
int64_t ceil_div(int64_t a, int64_t b);
size_t packed_bytes(const DenseShape& shape, const DenseOps& ops);
template <class Read>
PackedForm pack_panels(const DenseShape& s, const DenseOps& ops, Read read) {
  const auto make = [s, wide = ops.panel, read](std::span<std::byte> bytes) {
    // Panels that are filled together: the row of a matrix that they read at a time is then worth a page of its own.
    constexpr int64_t kTogether = 8;
    auto* const all = reinterpret_cast<float*>(bytes.data());
    const int64_t panels = ceil_div(s.columns, wide), depth = s.taps * s.depth;
    const auto fill = [&](int64_t panel, int64_t tap, int64_t e) {
      float* const to = all + (panel * depth + tap * s.depth + e) * wide;
      const int64_t first = panel * wide, count = std::min<int64_t>(wide, s.columns - first);
      for (int64_t c = 0; c < count; ++c) to[c] = read(first + c, tap, e);
      std::fill(to + count, to + wide, 0.0f);  // what a last panel has too much
    };
    parallel_for(ceil_div(panels, kTogether), 1, [&](int64_t begin, int64_t end) {
      for (int64_t group = begin; group < end; ++group)
        for (int64_t tap = 0; tap < s.taps; ++tap)
          for (int64_t e = 0; e < s.depth; ++e)
            for (int64_t p = group * kTogether, last = std::min(panels, p + kTogether); p < last; ++p) fill(p, tap, e);
    });
    return Status();
  };
  return {packed_bytes(s, ops), make};
}
// The same of f32: `index(column, tap, element)` says where in the source one lies.
template <class Index>
PackedForm pack_panels(const DenseShape& s, const DenseOps& ops, const HostTensor& source, Index index) {
  return pack_panels(
      s, ops, [source, from = static_cast<const float*>(source.data()), index](int64_t column, int64_t tap, int64_t e) {
        return from[index(column, tap, e)];
      });
}

// A convolution's image and filter as lines of pixels, of at most two axes: other axes are images.
struct ImageLines {
  int64_t images = 0, in_lines = 1, in_width = 0, out_lines = 1, out_width = 0;
  int64_t filter_lines = 1, filter_width = 1, dilation_lines = 1, dilation_width = 1;
  int64_t stride_lines = 1, stride_width = 1, pad_top = 0, pad_left = 0;
  // The pixels that a line of results reads, and the lines that all of them read, from the padding on.
  int64_t reach(int64_t results) const {
    return (results - 1) * stride_width + (filter_width - 1) * dilation_width + 1;
  }
  int64_t lines_for(int64_t results) const {
    return (results - 1) * stride_lines + (filter_lines - 1) * dilation_lines + 1;
  }
};

// The order of a sum's elements, tap after tap, where they are copied: runs of `run` elements, each of which begins a
// line of 64 bytes.
struct SumRuns {
  int64_t runs = 1, run = 0;
};

// Where the elements of a result's row come from. T: float, uint16_t for BF16, or uint8_t for both types of 8 bits.
template <class T>
class DenseRows {
 public:
  virtual ~DenseRows() = default;
  // taps[t * count + i]: the elements of row `first + i`, tap t.
  virtual void find(const T* input, int64_t first, int64_t count, const T** taps) const = 0;
  // Row i is what lies at input + i * depth, and has one tap.
  virtual bool plain() const = 0;
  // Rows [first, first + count) to `to` + i * stride, with zeros after each run. Needs AVX-512.
  virtual void copy(const T* input, int64_t first, int64_t count, const SumRuns& sum, T* to, int64_t stride) const = 0;
  virtual std::optional<ImageLines> lines() const { return std::nullopt; }
  // What is read where there is no pixel.
  virtual T padding() const { return 0; }
};

// Computes unit after unit, each thread with scratch memory of its own.
class UnitsCall : public Call {
 public:
  size_t workspace() const final { return static_cast<size_t>(slots_) * slot_bytes(); }
  Status run(const RunArgs& args) const final;

 protected:
  // Errors: packed weights of another size than `weights_bytes`.
  Status set_up(const Problem& problem, const KernelOptions& options, const DenseShape& shape, DenseBlocks blocks,
                size_t weights_bytes, const BindArgs& args);
  Status set_up(const Problem& problem, const KernelOptions& options, const DenseShape& shape, const DenseGrain& grain,
                size_t weights_bytes, const BindArgs& args) {
    return set_up(problem, options, shape, divide(shape, grain, options.threads), weights_bytes, args);
  }
  virtual size_t slot_bytes() const = 0;
  virtual void compute(const RunArgs& args, char* scratch, const DenseUnit& unit) const = 0;
  // The bias of a unit's first column; null: there is none.
  const float* bias(const RunArgs& args, const DenseUnit& unit) const;
  bool has_bias() const { return bias_ >= 0; }
  // A unit's values, with rows `stride` apart, through the epilogue to the output.
  void store(const RunArgs& args, const DenseUnit& unit, const void* values, int64_t stride) const;

  DenseShape shape_;
  DenseBlocks blocks_;
  Epilogue::Bound epilogue_;

 private:
  int bias_ = -1, slots_ = 1;
};

Result<std::unique_ptr<Call>> make_dense_call(const Problem& problem, const KernelOptions& options,
                                              const Epilogue& epilogue, const DenseShape& shape,
                                              std::unique_ptr<DenseRows<float>> rows, const BindArgs& args);

// f32 operands, a constant second one, an epilogue that we have.
Status check_dense_operands(const Problem& problem);
// The same, whatever the types of the first two operands; `bias`: what a bias may be beside f32.
Status check_dense_form(const Problem& problem, DType bias = DType::kF32);
double dense_cost_us(const Problem& problem, const DenseShape& shape, const KernelOptions& options);

}  // namespace wootz::cpu
