#include "backends/cpu/dense/quads.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cpu/dense/int8.h"
#include "backends/cpu/dense/quads_tile.h"
#include "backends/cpu/dense/sums_finish.h"
#include "backends/cpu/function_kernel.h"

namespace wootz::cpu {
namespace {

size_t aligned(int64_t bytes) { return (static_cast<size_t>(bytes) + 63) & ~size_t{63}; }

// Short pieces of memory: a call of memcpy takes as long as 100 bytes do. Pieces of 4 bytes and up overlap.
template <class T>
void copy_ends(const uint8_t* from, int64_t n, uint8_t* to) {
  constexpr auto size = static_cast<int64_t>(sizeof(T));
  T first, last;
  std::memcpy(&first, from, sizeof first);
  std::memcpy(&last, from + n - size, sizeof last);
  std::memcpy(to, &first, sizeof first);
  std::memcpy(to + n - size, &last, sizeof last);
}
struct Bytes16 {
  uint64_t low, high;
};
void copy_short(const uint8_t* from, int64_t n, uint8_t* to) {
  if (n > 32) {
    std::memcpy(to, from, static_cast<size_t>(n));
  } else if (n >= 16) {
    copy_ends<Bytes16>(from, n, to);
  } else if (n >= 8) {
    copy_ends<uint64_t>(from, n, to);
  } else if (n >= 4) {
    copy_ends<uint32_t>(from, n, to);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i];
  }
}

// Elements [first, first + length) of rows' taps, one after the other.
class RowReader {
 public:
  RowReader(const QuadsOps& ops, const DenseShape& shape, uint8_t flip, int64_t first, int64_t length)
      : ops_(ops), depth_(shape.depth), tap_(first / depth_), at_(first % depth_), length_(length), flip_(flip) {
    whole_quads_ = depth_ % 4 == 0 || shape.taps == 1;
  }

  // `row`: the address of tap t at row[t * step]. Gives what QuadsOps::spread gives.
  int32_t spread(const uint8_t* const* row, int64_t step, char* to) const {
    // Quads lie within taps, or all is copied together first.
    if (whole_quads_) {
      uint32_t more = 0;  // modulo 2^32
      each_run(row, step, [&](const uint8_t* from, int64_t at, int64_t n) {
        more += static_cast<uint32_t>(ops_.spread(from, flip_, n, to + 2 * at));
      });
      return static_cast<int32_t>(more);
    }
    uint8_t values[kQuadsPart];
    each_run(row, step, [&](const uint8_t* from, int64_t at, int64_t n) { copy_short(from, n, values + at); });
    return ops_.spread(values, flip_, length_, to);
  }

 private:
  // f(from, place, n). Taps that are neighbours in memory, as those along an image's line are, are one run.
  template <class Fn>
  void each_run(const uint8_t* const* row, int64_t step, Fn f) const {
    row += tap_ * step;
    int64_t at = at_;
    for (int64_t k = 0; k < length_; row += step, at = 0) {
      const uint8_t* from = *row + at;
      int64_t n = depth_ - at;
      for (; k + n < length_ && row[step] == *row + depth_; row += step) n += depth_;
      n = std::min(n, length_ - k);
      f(from, k, n);
      k += n;
    }
  }

  const QuadsOps& ops_;
  int64_t depth_, tap_, at_, length_;
  uint8_t flip_;
  bool whole_quads_;
};

class QuadsCall final : public UnitsCall {
 public:
  QuadsCall(const DenseShape& shape, const QuadsOps& ops) : ops_(ops), panels_(shape, ops) {}

  static Result<std::unique_ptr<Call>> make(const QuadsOps& ops, const Problem& p, const KernelOptions& options,
                                            const Epilogue& epilogue, const DenseShape& shape, const GemmScales& scales,
                                            std::unique_ptr<DenseRows<uint8_t>> rows, const BindArgs& args) {
    auto call = std::make_unique<QuadsCall>(shape, ops);
    WOOTZ_RETURN_IF_ERROR(call->set_up(p, options, shape, ops, call->panels_.bytes(), args));
    call->rows_ = std::move(rows);
    call->flip_ = p.inputs[0].dtype == DType::kU8 ? 128 : 0;
    call->find_finish(p, args);
    if (!call->direct_) {
      WOOTZ_ASSIGN_OR_RETURN(call->epilogue_, epilogue.bind(p, args));
    }
    call->set_scales(scales);
    return std::unique_ptr<Call>(std::move(call));
  }

 private:
  void find_finish(const Problem& p, const BindArgs& args) {
    std::optional<SumsFinish> finish = read_sums_finish(p, args);
    direct_ = finish && finish->type != SumsEnd::Type::kBf16;
    if (direct_) finish_ = std::move(*finish);
  }

  void set_scales(const GemmScales& scales) {
    scale_.assign(static_cast<size_t>(panels_.panels * panels_.panel), 0);
    for (int64_t c = 0; c < shape_.columns; ++c)
      scale_[static_cast<size_t>(c)] = finish_.factor * static_cast<float>(scales.of(c));
    most_ = largest_result(finish_, shape_.taps * shape_.depth, scale_);
  }

  size_t table_bytes() const {
    return aligned(shape_.taps * blocks_.unit_rows * static_cast<int64_t>(sizeof(uint8_t*)));
  }
  size_t values_bytes() const {
    return aligned(blocks_.unit_rows * (ops_.row_bytes() + static_cast<int64_t>(sizeof(int32_t))));
  }
  size_t sums_bytes() const {
    return aligned(blocks_.unit_rows * blocks_.unit_columns * static_cast<int64_t>(sizeof(int32_t)));
  }
  size_t slot_bytes() const override {
    return table_bytes() + values_bytes() + sums_bytes() +
           aligned(blocks_.unit_columns * static_cast<int64_t>(sizeof(float)));
  }

  // What is added to scaled sums, to the end of the last panel. Gives the largest absolute value.
  float set_bias(const RunArgs& args, const DenseUnit& u, float* to) const {
    const float* from = bias(args, u);
    const float* after = finish_.bias < 0 ? nullptr : static_cast<const float*>(args.inputs[finish_.bias]) + u.column;
    float most = std::fabs(finish_.shift);
    for (int64_t c = 0; c < blocks_.unit_columns; ++c) {
      to[c] = finish_.shift;
      if (c < u.columns && from != nullptr) to[c] += finish_.factor * from[c];
      if (c < u.columns && after != nullptr) to[c] += finish_.factor * after[c];
      most = std::max(most, std::fabs(to[c]));
    }
    return most;
  }

  void compute(const RunArgs& args, char* scratch, const DenseUnit& u) const override {
    auto** table = reinterpret_cast<const uint8_t**>(scratch);
    char* const values = scratch + table_bytes();
    auto* more = reinterpret_cast<int32_t*>(values + blocks_.unit_rows * ops_.row_bytes());
    auto* sums = reinterpret_cast<int32_t*>(values + values_bytes());
    auto* added = reinterpret_cast<float*>(values + values_bytes() + sums_bytes());
    rows_->find(static_cast<const uint8_t*>(args.inputs[0]), u.row, u.rows, table);
    const auto* weights = static_cast<const std::byte*>(args.inputs[1]);
    const auto* starts = reinterpret_cast<const int32_t*>(weights + panels_.panels * panels_.panel_bytes());
    QuadsEnd e = end(args, u, sums, added);
    QuadsTile t;
    t.values = values;
    t.more = more;
    t.stride = blocks_.unit_columns;
    for (int64_t part = 0; part < panels_.parts.count; ++part) {
      const int64_t first = part * panels_.parts.length, size = panels_.parts.size(part);
      const RowReader reader(ops_, shape_, flip_, first, size);
      for (int64_t i = 0; i < u.rows; ++i) more[i] = reader.spread(table + i, u.rows, values + i * ops_.row_bytes());
      t.quads = ceil_div(size, 4);
      for (int64_t c = 0; c < u.columns; c += ops_.panel) {
        t.block = weights + (u.column + c) / ops_.panel * panels_.panel_bytes() + panels_.part_offset(part);
        t.start = part == 0 ? starts + u.column + c : nullptr;
        t.sums = sums + c;
        ops_.tile(t, u.rows);
        if (part + 1 == panels_.parts.count) end_panel(e, u, c);
      }
    }
    if (!direct_) store(args, u, sums, blocks_.unit_columns);
  }

  QuadsEnd end(const RunArgs& args, const DenseUnit& u, int32_t* sums, float* added) const {
    QuadsEnd e;
    const float most = most_.with(set_bias(args, u, added));
    e.guarded = finish_.may_be_nan || !(most < kFitsInteger);
    e.sums = sums;
    e.stride = blocks_.unit_columns;
    e.scale = scale_.data() + u.column;
    e.bias = added;
    if (finish_.rows >= 0) e.row_scales = static_cast<const float*>(args.inputs[finish_.rows]) + u.row;
    e.ends = finish_.ends.data();
    e.num_ends = static_cast<int>(finish_.ends.size());
    e.inputs = args.inputs;
    e.first = u.row * shape_.columns + u.column;
    e.type = finish_.type;
    e.zero = finish_.zero;
    e.out_stride = direct_ ? shape_.columns : blocks_.unit_columns;
    e.out = direct_ ? static_cast<char*>(args.outputs[0]) + e.first * bytes_of(finish_.type)
                    : reinterpret_cast<char*>(sums);
    return e;
  }

  void end_panel(QuadsEnd e, const DenseUnit& u, int64_t column) const {
    e.sums += column;
    e.advance(column);
    e.columns = direct_ ? std::min(ops_.panel, u.columns - column) : ops_.panel;
    ops_.end(e, u.rows);
  }

  const QuadsOps& ops_;
  QuadPanels panels_;
  std::unique_ptr<DenseRows<uint8_t>> rows_;
  SumsFinish finish_;
  std::vector<float> scale_;  // to the end of the last panel
  LargestResult most_;        // what sums and operands in bytes come to, without the bias
  uint8_t flip_ = 0;
  bool direct_ = false;  // all that follows is in `finish_`
};

const QuadsOps& ops_of(Dots dots, Isa isa) { return dots == Dots::kCrossed ? crossed_ops(isa) : quads_ops(isa); }

}  // namespace

const QuadsForm& quads_form(Dots dots, Isa isa) { return ops_of(dots, isa); }

int32_t quads_offset(const Problem& p, const GemmScales& scales) {
  return (p.inputs[0].dtype == DType::kU8 ? 128 : 0) - scales.x_zero;
}

Result<std::unique_ptr<Call>> make_quads_call(Dots dots, const Problem& p, const KernelOptions& options,
                                              const Epilogue& epilogue, const DenseShape& shape,
                                              const GemmScales& scales, std::unique_ptr<DenseRows<uint8_t>> rows,
                                              const BindArgs& args) {
  return QuadsCall::make(ops_of(dots, options.isa), p, options, epilogue, shape, scales, std::move(rows), args);
}

double quads_cost_us(Dots dots, const Problem& p, const DenseShape& s, const KernelOptions& options) {
  const int64_t panel = ops_of(dots, options.isa).panel;
  const double padded = static_cast<double>(ceil_div(s.columns, panel) * panel);
  const double waste = s.columns == 0 ? 1 : padded / static_cast<double>(s.columns);
  return (dots == Dots::kCrossed ? 0.72 * waste : 0.8) * int8_cost_us(p, s, options);
}

}  // namespace wootz::cpu
