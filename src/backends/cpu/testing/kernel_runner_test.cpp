#include "backends/cpu/testing/kernel_runner.h"

#include "backends/cpu/chain/provider.h"
#include "backends/cpu/native_provider.h"
#include "base/cpu_info.h"
#include "base/thread_pool.h"
#include "base/tolerance.h"

namespace wootz::cpu::rig {

HostTensor random_tensor(std::mt19937_64& rng, DType dtype, const Dims& dims, double low, double high) {
  HostTensor t = HostTensor::allocate(dtype, dims).value();
  std::uniform_real_distribution<double> real(low, high);
  std::uniform_int_distribution<int64_t> whole(static_cast<int64_t>(low), static_cast<int64_t>(high));
  for (int64_t i = 0; i < t.volume(); ++i) {
    if (dtype == DType::kBool)
      t.set_i64(i, static_cast<int64_t>(rng() & 1));
    else if (is_float(dtype))
      t.set_f64(i, real(rng));
    else if (!dtype_info(dtype).is_signed)
      t.set_i64(i, std::abs(whole(rng)));
    else
      t.set_i64(i, whole(rng));
  }
  return t;
}

TensorDesc desc(DType dtype, const Dims& dims, bool constant) { return {dtype, Layout::kLinear, dims, dims, constant}; }
TensorDesc desc_of(const HostTensor& t, bool constant) {
  if (!t.valid()) return {};
  return desc(t.dtype(), t.dims(), constant);
}

namespace {

// Index in memory of a row-major element.
int64_t place(Layout layout, const Dims& dims, int64_t index) {
  if (layout == Layout::kLinear || dims.rank() < 3) return index;
  Dims at = dims;
  for (int d = dims.rank() - 1; d >= 0; --d) {
    at[static_cast<size_t>(d)] = index % dims[static_cast<size_t>(d)];
    index /= dims[static_cast<size_t>(d)];
  }
  int64_t spatial = 0, positions = 1;
  for (int d = 2; d < dims.rank(); ++d) {
    spatial = spatial * dims[static_cast<size_t>(d)] + at[static_cast<size_t>(d)];
    positions *= dims[static_cast<size_t>(d)];
  }
  const auto [blocks, block] = channel_order(layout, dims[1]);
  return ((at[0] * blocks + at[1] / block) * positions + spatial) * block + at[1] % block;
}

// Memory at a chosen misalignment, with a guard after it.
struct Buffer {
  std::vector<std::byte> memory;
  std::byte* data = nullptr;
  size_t bytes = 0;
  Buffer(size_t n, size_t offset) : memory(n + 192, std::byte{0xa5}), bytes(n) {
    const auto address = reinterpret_cast<uintptr_t>(memory.data());
    data = memory.data() + (64 - address % 64) % 64 + offset;
  }
  bool guard_intact() const {
    for (const std::byte* p = data + bytes; p < memory.data() + memory.size(); ++p)
      if (*p != std::byte{0xa5}) return false;
    return true;
  }
};

}  // namespace

// Several elements share a byte: they move by value.
static bool shares_bytes(DType dtype) { return dtype_bits(dtype) % 8 != 0; }

std::vector<std::byte> to_layout(const HostTensor& t, Layout layout) {
  const size_t size = dtype_bytes(t.dtype(), 1);
  std::vector<std::byte> out(layout_bytes(layout, t.dtype(), t.dims()), std::byte{0});
  if (layout == Layout::kLinear) {
    if (!out.empty()) std::memcpy(out.data(), t.data(), out.size());
    return out;
  }
  if (shares_bytes(t.dtype())) {
    const auto places = static_cast<int64_t>(out.size()) * 8 / dtype_bits(t.dtype());
    HostTensor flat = HostTensor::allocate(t.dtype(), Dims{places}).value();
    std::memset(flat.mutable_data(), 0, flat.bytes());
    for (int64_t i = 0; i < t.volume(); ++i)
      flat.set_f64(static_cast<int64_t>(place(layout, t.dims(), i)), t.get_f64(i));
    if (!out.empty()) std::memcpy(out.data(), flat.data(), out.size());
    return out;
  }
  for (int64_t i = 0; i < t.volume(); ++i)
    std::memcpy(out.data() + static_cast<size_t>(place(layout, t.dims(), i)) * size,
                static_cast<const std::byte*>(t.data()) + static_cast<size_t>(i) * size, size);
  return out;
}

HostTensor from_layout(const void* data, Layout layout, DType dtype, const Dims& dims) {
  HostTensor t = HostTensor::allocate(dtype, dims).value();
  const size_t size = dtype_bytes(dtype, 1);
  if (layout == Layout::kLinear) {
    if (t.bytes() > 0) std::memcpy(t.mutable_data(), data, t.bytes());
    return t;
  }
  if (shares_bytes(dtype)) {
    const auto places = static_cast<int64_t>(layout_bytes(layout, dtype, dims)) * 8 / dtype_bits(dtype);
    const HostTensor flat = HostTensor::wrap(dtype, Dims{places}, data, nullptr);
    for (int64_t i = 0; i < t.volume(); ++i) t.set_f64(i, flat.get_f64(static_cast<int64_t>(place(layout, dims, i))));
    return t;
  }
  for (int64_t i = 0; i < t.volume(); ++i)
    std::memcpy(static_cast<std::byte*>(t.mutable_data()) + static_cast<size_t>(i) * size,
                static_cast<const std::byte*>(data) + static_cast<size_t>(place(layout, dims, i)) * size, size);
  return t;
}

const Provider& provider_of(const Problem& problem) {
  return problem.family() == Family::kChain ? chain_provider() : native_provider();
}

Result<std::vector<HostTensor>> run_candidate(const Problem& problem, const Candidate& offer,
                                              const std::vector<HostTensor>& inputs, const Options& options,
                                              bool in_place) {
  Problem filled = problem;
  for (size_t i = 0; i < filled.inputs.size(); ++i) filled.inputs[i].layout = offer.input_layouts[i];
  for (size_t i = 0; i < filled.outputs.size(); ++i) filled.outputs[i].layout = offer.output_layouts[i];
  Limits limits;
  limits.threads = 3;
  WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, provider_of(problem).create(offer.tactic, filled, limits));
  std::vector<Buffer> in, out;
  std::vector<std::vector<std::byte>> packed(inputs.size());
  std::vector<const void*> constants(inputs.size(), nullptr), in_ptrs;
  std::vector<void*> out_ptrs;
  std::vector<Dims> in_dims, out_dims;
  for (size_t i = 0; i < inputs.size(); ++i) {
    in_dims.push_back(inputs[i].dims());
    if (!inputs[i].valid()) {
      in.emplace_back(0, 0);
      in_ptrs.push_back(nullptr);
      continue;
    }
    packed[i] = to_layout(inputs[i], filled.inputs[i].layout);
    if (filled.inputs[i].constant) {
      WOOTZ_ASSIGN_OR_RETURN(const std::optional<PackedForm> form, kernel->pack(static_cast<int>(i), inputs[i]));
      if (form) {
        packed[i].resize(form->bytes);
        WOOTZ_RETURN_IF_ERROR(form->make(packed[i]));
      }
    }
    in.emplace_back(packed[i].size(), options.misaligned ? dtype_bytes(inputs[i].dtype(), 1) : 0);
    if (!packed[i].empty()) std::memcpy(in.back().data, packed[i].data(), packed[i].size());
    in_ptrs.push_back(in.back().data);
    if (filled.inputs[i].constant) constants[i] = in.back().data;
  }
  for (size_t i = 0; i < filled.outputs.size(); ++i) {
    const TensorDesc& t = filled.outputs[i];
    out_dims.push_back(t.dims);
    if (t.dtype == DType::kInvalid) {  // left out
      out.emplace_back(0, 0);
      out_ptrs.push_back(nullptr);
      continue;
    }
    out.emplace_back(layout_bytes(t.layout, t.dtype, t.dims), options.misaligned ? dtype_bytes(t.dtype, 1) : 0);
    const int k = in_place ? kernel->in_place(static_cast<int>(i)) : -1;
    out_ptrs.push_back(k >= 0 ? const_cast<void*>(in_ptrs[static_cast<size_t>(k)]) : out.back().data);
  }
  WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<Call> call, kernel->bind({in_dims, out_dims, constants}));
  Buffer workspace(call->workspace(), 0);
  const RunArgs args{in_ptrs.data(), out_ptrs.data(), workspace.data, nullptr, nullptr};
  WOOTZ_RETURN_IF_ERROR(call->run(args));
  std::vector<HostTensor> results;
  for (size_t i = 0; i < filled.outputs.size(); ++i) {
    const TensorDesc& t = filled.outputs[i];
    if (t.dtype == DType::kInvalid) {
      results.emplace_back();
      continue;
    }
    EXPECT_TRUE(out[i].guard_intact()) << "written after output " << i;
    results.push_back(from_layout(out_ptrs[i], t.layout, t.dtype, t.dims));
    if (t.layout == Layout::kBlocked8 || t.layout == Layout::kBlocked16) {
      const std::vector<std::byte> again = to_layout(results.back(), t.layout);  // padding is zero
      EXPECT_TRUE(again.empty() || std::memcmp(again.data(), out_ptrs[i], again.size()) == 0)
          << "padding of output " << i;
    }
  }
  EXPECT_TRUE(workspace.guard_intact()) << "written after the workspace";
  for (size_t i = 0; i < in.size(); ++i) EXPECT_TRUE(in[i].guard_intact()) << "written after input " << i;
  return results;
}

std::vector<Candidate> offers_for(const Problem& problem, const char* isa_cap) {
  Limits limits;
  limits.isa_cap = isa_cap;
  limits.threads = 3;
  std::vector<Candidate> offers;
  std::vector<Refusal> refusals;
  provider_of(problem).tactics(problem, limits, &offers, &refusals);
  for (const Refusal& r : refusals) EXPECT_FALSE(r.reason.empty()) << r.kernel;
  return offers;
}

namespace {

void compare_all(const std::vector<HostTensor>& got, const std::vector<HostTensor>& expected, const Options& options,
                 const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (size_t o = 0; o < got.size(); ++o) {
    if (!expected[o].valid()) continue;
    const Difference d = compare_by_place(got[o], expected[o], options.noise);
    EXPECT_TRUE(within(d, options.tolerance))
        << what << " output " << o << ": " << to_string(d)
        << (d.worst_index >= 0
                ? fmt::format(" got {} expected {}", got[o].get_f64(d.worst_index), expected[o].get_f64(d.worst_index))
                : std::string());
  }
}

}  // namespace

void check(const Problem& problem, const std::vector<HostTensor>& inputs, const std::vector<HostTensor>& expected,
           const Options& options) {
  for (const Isa width : {Isa::kAvx2, Isa::kAvx512}) {
    const char* isa = isa_name(width);
    if (cpu_info().best() < width) {
      note_missing_isa(isa);
      continue;
    }
    if (usable_isa() < width) continue;  // a cap on the process
    int ran = 0;
    // With all that the processor has, tiles as well.
    for (const Candidate& offer : offers_for(problem, width == usable_isa() ? "" : isa)) {
      EXPECT_TRUE(offer.tactic.kernel.ends_with(isa)) << offer.tactic.kernel;
      for (int threads : {1, 3}) {
        ParallelScope scope(threads);
        for (bool in_place : {false, true}) {
          if (in_place && !options.in_place) continue;
          const std::string what =
              fmt::format("{} layout {} threads {}{} seed {}", offer.tactic.to_string(),
                          layout_name(offer.output_layouts[0]), threads, in_place ? " in place" : "", seed());
          const Result<std::vector<HostTensor>> got = run_candidate(problem, offer, inputs, options, in_place);
          ASSERT_TRUE(got.ok()) << what << ": " << got.status().to_string();
          compare_all(*got, expected, options, what);
          ++ran;
        }
      }
    }
    // Parts of a chain may be oneDNN's, which keeps to the width of the process.
    if (problem.family() != Family::kChain || width == usable_isa())
      EXPECT_EQ(ran > 0, options.expect_offer) << isa << ": " << problem.key();
  }
}

PointwiseExpr test_epilogue(DType acc, DType out) {
  PointwiseExpr e;
  const uint16_t x = e.push(PwOp::kCast, DType::kF32, e.input(0, acc)), y = e.input(1, DType::kF32);
  const uint16_t half = e.push(PwOp::kMul, DType::kF32, x, e.constant(0.5, DType::kF32));
  const uint16_t sum = e.push(PwOp::kRelu, DType::kF32, e.push(PwOp::kAdd, DType::kF32, half, y));
  e.outputs = {out == DType::kF32 ? sum : e.push(PwOp::kCast, out, sum)};
  return e;
}

HostTensor apply_epilogue(const PointwiseExpr& expr, const HostTensor& result,
                          const std::vector<HostTensor>& operands) {
  HostTensor out = HostTensor::allocate(expr.output_type(), result.dims()).value();
  std::vector<PwScalar> in(1 + operands.size()), value(1);
  for (int64_t i = 0; i < out.volume(); ++i) {
    in[0] = {result.get_f64(i), result.get_i64(i)};
    for (size_t k = 0; k < operands.size(); ++k) in[k + 1] = {operands[k].get_f64(i), operands[k].get_i64(i)};
    evaluate(expr, in, value);
    if (is_float(out.dtype()))
      out.set_f64(i, value[0].f);
    else
      out.set_i64(i, value[0].i);
  }
  return out;
}

HostTensor converted(const HostTensor& t, DType type) {
  HostTensor out = HostTensor::allocate(type, t.dims()).value();
  for (int64_t i = 0; i < t.volume(); ++i) out.set_f64(i, t.get_f64(i));
  return out;
}

}  // namespace wootz::cpu::rig
