// The loop over blocks. No allocation and no lock here.
#include <algorithm>
#include <cstring>

#include "backends/cpu/pointwise/engine.h"

namespace wootz::cpu {
namespace {

// By copies of what is filled already: the compiler leaves a loop over elements as it is.
template <class T>
void fill_as(void* to, const void* value, int64_t n) {
  constexpr int64_t kFirst = 16;
  auto* out = static_cast<char*>(to);
  for (int64_t i = 0; i < std::min(n, kFirst); ++i) std::memcpy(out + i * sizeof(T), value, sizeof(T));
  for (int64_t done = kFirst; done < n; done *= 2)
    std::memcpy(out + done * sizeof(T), out, static_cast<size_t>(std::min(done, n - done)) * sizeof(T));
}
void fill(void* to, const void* value, int64_t n, int bytes) {
  switch (bytes) {
    case 1: std::memset(to, *static_cast<const unsigned char*>(value), static_cast<size_t>(n)); return;
    case 2: return fill_as<uint16_t>(to, value, n);
    case 4: return fill_as<uint32_t>(to, value, n);
    default: return fill_as<uint64_t>(to, value, n);
  }
}

template <class T>
void copy_strided_as(void* to, const void* from, int64_t stride, int64_t n) {
  auto* out = static_cast<T*>(to);
  const char* in = static_cast<const char*>(from);
  const auto step = stride * static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < n; ++i) std::memcpy(out + i, in + i * step, sizeof(T));
}
// n elements, `stride` elements apart.
void copy_run(void* to, const void* from, int64_t stride, int64_t n, int bytes) {
  if (stride == 1) {
    std::memcpy(to, from, static_cast<size_t>(n) * static_cast<size_t>(bytes));
    return;
  }
  if (stride == 0) return fill(to, from, n, bytes);
  switch (bytes) {
    case 1: return copy_strided_as<uint8_t>(to, from, stride, n);
    case 2: return copy_strided_as<uint16_t>(to, from, stride, n);
    case 4: return copy_strided_as<uint32_t>(to, from, stride, n);
    default: return copy_strided_as<uint64_t>(to, from, stride, n);
  }
}

}  // namespace

struct BoundPointwise::Frame {
  alignas(64) char scratch[kScratchBytes];
  const char* bases[PointwiseCode::kMaxOperands];
  const char* at[PointwiseCode::kMaxOperands];      // this block's elements
  int64_t filled_row[PointwiseCode::kMaxOperands];  // long rows: the row whose value fills the buffer
  int64_t filled[PointwiseCode::kMaxOperands];
  void* const* outputs;
  int64_t begin;
};

int64_t BoundPointwise::offset_of(const Input& input, int64_t index) const {
  int64_t offset = 0;
  for (int r = rank_ - 1; r >= 0; --r) {
    const auto d = static_cast<size_t>(r);
    offset += index % dims_[d] * input.strides[d];
    index /= dims_[d];
  }
  return offset;
}

// Elements [begin, begin + n) of the output's order, one after the other.
void BoundPointwise::gather(const Input& input, int bytes, const char* base, int64_t begin, int64_t n, void* to) const {
  const auto inner = static_cast<size_t>(rank_ - 1);
  int64_t index[kMaxDims];
  int64_t rest = begin, offset = 0;
  for (int r = rank_ - 1; r >= 0; --r) {
    const auto d = static_cast<size_t>(r);
    index[d] = rest % dims_[d];
    rest /= dims_[d];
    offset += index[d] * input.strides[d];
  }
  char* out = static_cast<char*>(to);
  while (n > 0) {
    const int64_t run = dims_[inner] - index[inner] < n ? dims_[inner] - index[inner] : n;
    copy_run(out, base + offset * bytes, input.strides[inner], run, bytes);
    n -= run;
    out += run * bytes;
    offset += run * input.strides[inner];
    index[inner] += run;
    for (int r = rank_ - 1; r > 0 && index[static_cast<size_t>(r)] == dims_[static_cast<size_t>(r)]; --r) {
      const auto d = static_cast<size_t>(r);
      offset += input.strides[d - 1] - index[d] * input.strides[d];
      index[d] = 0;
      ++index[d - 1];
    }
  }
}

// The n elements of operand k from `begin` on: where they lie, if they lie one after the other, or gathered.
const char* BoundPointwise::strided_block(Frame* f, size_t k, int64_t begin, int64_t n) const {
  const auto inner = static_cast<size_t>(rank_ - 1);
  const Input& input = inputs_[k];
  const int bytes = code_->operands[k].bytes;
  char* buffer = f->scratch + input.buffer;
  if (!long_rows_) {
    const int64_t phase = input.period > 1 ? begin % input.period : 1;
    // Inside one contiguous part there is nothing to gather.
    if (input.period > 1 && phase + n <= input.period) return f->bases[k] + offset_of(input, begin) * bytes;
    gather(input, bytes, f->bases[k], begin, n, buffer);
    return buffer;
  }
  const int64_t row = begin / dims_[inner], stride = input.strides[inner];
  if (stride == 0 && f->filled_row[k] == row && f->filled[k] >= n) return buffer;  // the value is there already
  const char* from = f->bases[k] + offset_of(input, begin) * bytes;
  if (stride == 1) return from;
  int64_t count = n;
  if (stride == 0) {
    f->filled_row[k] = row;
    const int64_t left = dims_[inner] - begin % dims_[inner];
    count = f->filled[k] = left < block_ ? left : block_;
  }
  copy_run(buffer, from, stride, count, bytes);
  return buffer;
}

void BoundPointwise::row_block(Frame* f, int64_t begin, int64_t n) const {
  const PointwiseCode& code = *code_;
  for (size_t k = 0; k < inputs_.size(); ++k) {
    const Input& input = inputs_[k];
    const int bytes = code.operands[k].bytes;
    char* buffer = f->scratch + input.buffer;
    switch (input.access) {
      case Access::kFull: f->at[k] = f->bases[k] + (input.tile ? begin - f->begin : begin) * bytes; break;
      case Access::kScalar: f->at[k] = buffer; break;
      case Access::kPeriodic: {
        const int64_t phase = begin % input.period;
        f->at[k] = (phase + n <= input.period ? f->bases[k] : buffer) + phase * bytes;
        break;
      }
      case Access::kStrided: f->at[k] = strided_block(f, k, begin, n); break;
    }
  }
  const auto in = [&](PwSlot s) -> const char* {
    switch (s.kind) {
      case PwSlot::kOperand: return f->at[s.index];
      case PwSlot::kRegister: return f->scratch + registers_[s.index];
      case PwSlot::kOutput:
        return static_cast<const char*>(f->outputs[s.index]) + begin * (dtype_bits(code.output_types[s.index]) / 8);
      default: return nullptr;
    }
  };
  for (const PwStep& step : code.steps)
    step.fn({const_cast<char*>(in(step.dst)), in(step.a), in(step.b), in(step.c), n, step.imm0, step.imm1});
}

void BoundPointwise::only_step(int64_t begin, int64_t end, const void* const* inputs, void* const* outputs,
                               const void* tile) const {
  const auto at = [&](PwSlot s) -> const char* {
    if (s.kind == PwSlot::kNone) return nullptr;
    if (s.kind == PwSlot::kOutput)
      return static_cast<const char*>(outputs[s.index]) + begin * (dtype_bits(code_->output_types[s.index]) / 8);
    const PointwiseCode::Operand& operand = code_->operands[s.index];
    return inputs_[s.index].tile ? static_cast<const char*>(tile)
                                 : static_cast<const char*>(inputs[operand.input]) + begin * operand.bytes;
  };
  const PwStep& step = code_->steps[0];
  step.fn({const_cast<char*>(at(step.dst)), at(step.a), at(step.b), at(step.c), end - begin, step.imm0, step.imm1});
}

void BoundPointwise::run(int64_t begin, int64_t end, const void* const* inputs, void* const* outputs,
                         const void* tile) const {
  if (begin >= end) return;
  if (one_step_) return only_step(begin, end, inputs, outputs, tile);
  Frame f;  // not initialized: the scratch memory is written before it is read
  f.outputs = outputs;
  f.begin = begin;
  const int64_t longest = end - begin < block_ ? end - begin : block_;
  for (size_t k = 0; k < inputs_.size(); ++k) {
    const Input& input = inputs_[k];
    const int bytes = code_->operands[k].bytes;
    f.bases[k] = static_cast<const char*>(input.tile ? tile : inputs[code_->operands[k].input]);
    f.filled_row[k] = -1;
    f.filled[k] = 0;
    char* buffer = f.scratch + input.buffer;
    if (input.access == Access::kScalar) fill(buffer, f.bases[k], longest, bytes);
    if (input.access == Access::kPeriodic)
      for (int64_t i = 0; i < longest + input.period; i += input.period) {
        const int64_t n = i + input.period <= 2 * block_ ? input.period : 2 * block_ - i;
        std::memcpy(buffer + i * bytes, f.bases[k], static_cast<size_t>(n * bytes));
      }
  }
  for (const PointwiseCode::Constant& c : code_->constants)
    fill(f.scratch + registers_[c.reg], &c.bits, longest, code_->register_bytes[c.reg]);

  const int64_t row = dims_[static_cast<size_t>(rank_ - 1)];
  while (begin < end) {
    int64_t n = end - begin < block_ ? end - begin : block_;
    if (long_rows_) {
      const int64_t left = row - begin % row;
      if (left < n) n = left;
    }
    row_block(&f, begin, n);
    begin += n;
  }
}

void BoundPointwise::run_rows(const PwRows& rows, const void* const* inputs, void* const* outputs,
                              const void* tile) const {
  const auto* from = static_cast<const char*>(tile);
  if (of_tile_ && gathered_rows(rows, outputs, from)) return;
  int64_t bytes = 0;
  for (size_t k = 0; k < inputs_.size(); ++k)
    if (inputs_[k].tile) bytes = code_->operands[k].bytes;
  for (int64_t r = 0; r < rows.count; ++r) {
    const int64_t begin = rows.first + r * rows.stride;
    run(begin, begin + rows.length, inputs, outputs, from + r * rows.length * bytes);
  }
}

// Several rows at a time, which then are brought to their places; false: they are too long for that.
bool BoundPointwise::gathered_rows(const PwRows& rows, void* const* outputs, const char* from) const {
  alignas(64) char made[4096];
  const PwStep& step = code_->steps[0];
  const int64_t bytes = dtype_bits(code_->output_types[step.dst.index]) / 8 * rows.length;
  if (bytes <= 0 || bytes > static_cast<int64_t>(sizeof(made)) / 2) return false;
  const int64_t at_once = static_cast<int64_t>(sizeof(made)) / bytes, read = code_->operands[0].bytes * rows.length;
  for (int64_t r = 0; r < rows.count; r += at_once) {
    const int64_t n = at_once < rows.count - r ? at_once : rows.count - r;
    step.fn({made, from + r * read, nullptr, nullptr, n * rows.length, step.imm0, step.imm1});
    char* to = static_cast<char*>(outputs[step.dst.index]) + (rows.first + r * rows.stride) * (bytes / rows.length);
    for (int64_t i = 0; i < n; ++i)
      std::memcpy(to + i * rows.stride * (bytes / rows.length), made + i * bytes, static_cast<size_t>(bytes));
  }
  return true;
}

void BoundPointwise::clear_padding(void* const* outputs) const {
  const Padding& p = padding_;
  if (p.block == 0) return;
  for (size_t o = 0; o < code_->output_types.size(); ++o) {
    const int64_t bytes = dtype_bits(code_->output_types[o]) / 8;
    for (int64_t n = 0; n < p.outer; ++n)
      for (int64_t i = 0; i < p.inner; ++i)
        std::memset(static_cast<char*>(outputs[o]) + (n * p.stride + p.first + i * p.block + p.used) * bytes, 0,
                    static_cast<size_t>((p.block - p.used) * bytes));
  }
}

}  // namespace wootz::cpu
