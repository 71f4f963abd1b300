// The helpers of testing.h, and what keeps them honest.
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "backend/quantized.h"
#include "backends/cpu/onednn/testing.h"
#include "base/tolerance.h"

namespace wootz::cpu::dnn::testing {

HostTensor random_tensor(std::mt19937_64& rng, DType dtype, const Dims& dims, int64_t low, int64_t high) {
  HostTensor t = HostTensor::allocate(dtype, dims).value();
  std::uniform_real_distribution<double> real(-1, 1);
  std::uniform_int_distribution<int64_t> integer(dtype == DType::kU8 ? std::max<int64_t>(low, 0) : low, high);
  for (int64_t i = 0; i < t.volume(); ++i) {
    if (is_float(dtype))
      t.set_f64(i, real(rng));
    else
      t.set_i64(i, integer(rng));
  }
  return t;
}

TensorDesc desc_of(const HostTensor& tensor, bool constant) {
  return {tensor.dtype(), Layout::kLinear, tensor.dims(), tensor.dims(), constant};
}

GuardedBuffer::GuardedBuffer(size_t bytes) : bytes_(bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t body = (bytes + page - 1) / page * page;
  map_bytes_ = body + page;
  map_ = mmap(nullptr, map_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map_ == MAP_FAILED) std::abort();
  mprotect(static_cast<char*>(map_) + body, page, PROT_NONE);
  data_ = static_cast<char*>(map_) + body - bytes;
}
GuardedBuffer::~GuardedBuffer() {
  if (map_ != nullptr) munmap(map_, map_bytes_);
}
GuardedBuffer::GuardedBuffer(GuardedBuffer&& other) noexcept
    : map_(other.map_), map_bytes_(other.map_bytes_), bytes_(other.bytes_), data_(other.data_) {
  other.map_ = nullptr;
}

namespace {

// Calls f(linear index, index in the layout) for every element.
void for_each_place(const Dims& dims, Layout layout, const std::function<void(int64_t, int64_t)>& f) {
  const int64_t block = layout == Layout::kBlocked8 ? 8 : layout == Layout::kBlocked16 ? 16 : 1;
  if (layout == Layout::kLinear || dims.rank() < 3) {
    for (int64_t i = 0; i < dims.volume(); ++i) f(i, i);
    return;
  }
  const int64_t channels = dims[1], blocks = (channels + block - 1) / block;
  int64_t area = 1;
  for (size_t i = 2; i < dims.size(); ++i) area *= dims[i];
  for (int64_t n = 0; n < dims[0]; ++n)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t x = 0; x < area; ++x)
        f((n * channels + c) * area + x, layout == Layout::kChannelsLast
                                             ? (n * area + x) * channels + c
                                             : ((n * blocks + c / block) * area + x) * block + c % block);
}

int64_t at(const Dims& dims, const Dims& index) {
  int64_t i = 0;
  for (size_t d = 0; d < dims.size(); ++d) i = i * dims[d] + index[d];
  return i;
}

// The index after `index` in row-major order; false at the end.
bool next(const Dims& dims, Dims* index) {
  for (size_t d = dims.size(); d-- > 0;) {
    if (++(*index)[d] < dims[d]) return true;
    (*index)[d] = 0;
  }
  return false;
}

double conv_at(const Problem& p, const HostTensor& x, const HostTensor& w, const Dims& out, double zero) {
  const auto& conv = p.as<ConvParams>();
  const auto &strides = conv.strides, &dilations = conv.dilations, &pads = conv.pads;
  const int64_t groups = conv.groups;
  const bool transposed = conv.transposed;
  const size_t spatial = x.dims().size() - 2;
  const int64_t per_group = transposed ? w.dims()[1] : w.dims()[0] / groups, inputs = x.dims()[1] / groups;
  const int64_t group = out[1] / per_group;
  Dims taps;
  for (size_t i = 0; i < spatial; ++i) taps.push_back(w.dims()[i + 2]);
  const int64_t x_step = x.dims().strides()[1], w_step = w.dims().strides()[transposed ? 0 : 1];
  double sum = 0;
  Dims k = Dims::filled(static_cast<int>(spatial), 0);
  do {
    Dims xi{out[0], group * inputs};
    bool inside = true;
    for (size_t i = 0; i < spatial && inside; ++i) {
      int64_t place = 0;
      if (transposed) {
        place = out[i + 2] + pads[i] - k[i] * dilations[i];
        inside = place >= 0 && place % strides[i] == 0;
        place /= strides[i];
      } else {
        place = out[i + 2] * strides[i] - pads[i] + k[i] * dilations[i];
      }
      inside = inside && place >= 0 && place < x.dims()[i + 2];
      xi.push_back(place);
    }
    if (!inside) continue;
    Dims wi = transposed ? Dims{group * inputs, out[1] - group * per_group} : Dims{out[1], 0};
    for (size_t i = 0; i < spatial; ++i) wi.push_back(k[i]);
    const int64_t x_first = at(x.dims(), xi), w_first = at(w.dims(), wi);
    for (int64_t c = 0; c < inputs; ++c)
      sum += (x.get_f64(x_first + c * x_step) - zero) * w.get_f64(w_first + c * w_step);
  } while (next(taps, &k));
  return sum;
}

double gemm_at(const Problem& p, const HostTensor& a, const HostTensor& b, const Dims& out, double zero,
               double b_zero) {
  const bool ta = p.as<GemmParams>().trans_a, tb = p.as<GemmParams>().trans_b;
  const auto offset = [&](const Dims& dims, int64_t row, int64_t column) {
    Dims index;
    const int shift = out.rank() - dims.rank();
    for (int i = 0; i < dims.rank() - 2; ++i) {
      const auto d = static_cast<size_t>(i);
      index.push_back(dims[d] == 1 ? 0 : out[static_cast<size_t>(i + shift)]);
    }
    index.push_back(row);
    index.push_back(column);
    return at(dims, index);
  };
  const int64_t m = out[out.size() - 2], n = out.back();
  const int64_t inner = a.dims()[a.dims().size() - (ta ? 2 : 1)];
  const int64_t a_first = ta ? offset(a.dims(), 0, m) : offset(a.dims(), m, 0);
  const int64_t b_first = tb ? offset(b.dims(), n, 0) : offset(b.dims(), 0, n);
  const int64_t a_step = ta ? a.dims().back() : 1, b_step = tb ? 1 : b.dims().back();
  double sum = 0;
  for (int64_t k = 0; k < inner; ++k)
    sum += (a.get_f64(a_first + k * a_step) - zero) * (b.get_f64(b_first + k * b_step) - b_zero);
  return sum;
}

double broadcast_value(const HostTensor& t, const Dims& out) {
  int64_t i = 0;
  const int shift = out.rank() - t.rank();
  for (size_t d = 0; d < t.dims().size(); ++d)
    i = i * t.dims()[d] + (t.dims()[d] == 1 ? 0 : out[d + static_cast<size_t>(shift)]);
  return t.get_f64(i);
}

}  // namespace

GuardedBuffer to_layout(const HostTensor& tensor, Layout layout) {
  GuardedBuffer buffer(layout_bytes(layout, tensor.dtype(), tensor.dims()));
  const size_t size = dtype_bytes(tensor.dtype(), 1);
  for_each_place(tensor.dims(), layout, [&](int64_t from, int64_t to) {
    std::memcpy(static_cast<char*>(buffer.data()) + static_cast<size_t>(to) * size,
                static_cast<const char*>(tensor.data()) + static_cast<size_t>(from) * size, size);
  });
  return buffer;
}

HostTensor from_layout(const void* data, DType dtype, const Dims& dims, Layout layout) {
  HostTensor tensor = HostTensor::allocate(dtype, dims).value();
  const size_t size = dtype_bytes(dtype, 1);
  for_each_place(dims, layout, [&](int64_t to, int64_t from) {
    std::memcpy(static_cast<char*>(tensor.mutable_data()) + static_cast<size_t>(to) * size,
                static_cast<const char*>(data) + static_cast<size_t>(from) * size, size);
  });
  return tensor;
}

HostTensor dense_oracle(const Problem& p, const std::vector<HostTensor>& inputs, const Dims& output) {
  HostTensor result = HostTensor::allocate(p.outputs[0].dtype, output).value();
  if (output.volume() == 0) return result;
  const bool conv = p.family() == Family::kConv;
  const Grids grids = grids_of(p);
  const auto first = [](const Floats& values, double fallback) { return values.empty() ? fallback : values[0]; };
  const double x_scale = first(*grids.x_scale, 1), zero = first(*grids.x_zero, 0);
  const Floats& w_scale = *grids.w_scale;
  Dims index = Dims::filled(output.rank(), 0);
  std::vector<PwScalar> operands(1);
  int64_t place = 0;
  do {
    const int64_t channel = conv ? index[1] : index.back();
    double value = conv ? conv_at(p, inputs[0], inputs[1], index, zero)
                        : gemm_at(p, inputs[0], inputs[1], index, zero, first(*grids.w_zero, 0));
    const double scale = w_scale.empty() ? 1 : w_scale[w_scale.size() == 1 ? 0 : static_cast<size_t>(channel)];
    value = value * x_scale * scale * (conv ? 1 : p.as<GemmParams>().alpha);
    if (has_bias(p)) value += conv ? inputs[2].get_f64(channel) : broadcast_value(inputs[2], index);
    if (p.epilogue.empty()) {
      result.set_f64(place++, value);
      continue;
    }
    operands.assign(1, {value, 0});
    for (size_t k = static_cast<size_t>(p.num_main); k < inputs.size(); ++k) {
      const double v = broadcast_value(inputs[k], index);
      operands.push_back({v, static_cast<int64_t>(v)});
    }
    PwScalar out;
    evaluate(p.epilogue, operands, {&out, 1});
    if (is_float(p.outputs[0].dtype))
      result.set_f64(place++, out.f);
    else
      result.set_i64(place++, out.i);
  } while (next(output, &index));
  return result;
}

Problem with_layouts(const Problem& problem, const Candidate& candidate) {
  Problem p = problem;
  for (size_t i = 0; i < p.inputs.size(); ++i) p.inputs[i].layout = candidate.input_layouts[i];
  for (size_t o = 0; o < p.outputs.size(); ++o) p.outputs[o].layout = candidate.output_layouts[o];
  return p;
}

RunOutcome run_candidate(const Provider& provider, const Problem& problem, const Candidate& candidate,
                         const std::vector<HostTensor>& inputs, const Dims& output, const Limits& limits) {
  const Problem p = with_layouts(problem, candidate);
  Result<std::unique_ptr<Kernel>> kernel = provider.create(candidate.tactic, p, limits);
  if (!kernel.ok()) return {kernel.status(), {}};
  std::vector<GuardedBuffer> buffers;
  std::vector<RawBytes> packed(inputs.size());
  std::vector<const void*> addresses, constants;
  std::vector<size_t> bytes;
  std::vector<Dims> dims;
  for (size_t i = 0; i < inputs.size(); ++i) {
    dims.push_back(inputs[i].dims());
    if (p.inputs[i].constant) {
      auto made = (*kernel)->pack(static_cast<int>(i), inputs[i]);
      if (!made.ok()) return {made.status(), {}};
      if (made->has_value()) packed[i] = make_bytes(**made).value();
    }
    if (!packed[i].empty()) {
      // The plan's sections are aligned; here the end touches the guard instead.
      buffers.emplace_back(packed[i].size());
      std::memcpy(buffers.back().data(), packed[i].data(), packed[i].size());
    } else {
      buffers.push_back(to_layout(inputs[i], p.inputs[i].layout));
    }
    addresses.push_back(buffers.back().data());
    constants.push_back(p.inputs[i].constant ? buffers.back().data() : nullptr);
    bytes.push_back(p.inputs[i].constant ? buffers.back().bytes() : 0);
  }
  const std::vector<Dims> outputs{output};
  Result<std::unique_ptr<Call>> call = (*kernel)->bind({dims, outputs, constants, bytes});
  if (!call.ok()) return {call.status(), {}};
  GuardedBuffer out(layout_bytes(p.outputs[0].layout, p.outputs[0].dtype, output));
  const size_t work_bytes = ((*call)->workspace() + 63) / 64 * 64;
  GuardedBuffer workspace(work_bytes);
  void* result = out.data();
  const RunArgs args{addresses.data(), &result, workspace.data(), nullptr, nullptr};
  if (work_bytes > 0) std::memset(workspace.data(), 0xff, work_bytes);
  std::memset(out.data(), 0xff, out.bytes());
  if (Status s = (*call)->run(args); !s.ok()) return {s, {}};
  const HostTensor first = from_layout(out.data(), p.outputs[0].dtype, output, p.outputs[0].layout);
  std::vector<char> before(static_cast<char*>(result), static_cast<char*>(result) + out.bytes());
  if (Status s = (*call)->run(args); !s.ok()) return {s, {}};
  if (std::memcmp(before.data(), result, before.size()) != 0)
    return {internal_error("two runs gave different bits"), {}};
  // The padding of a blocked layout must be zeros.
  const HostTensor again = from_layout(result, p.outputs[0].dtype, output, p.outputs[0].layout);
  const GuardedBuffer clean = to_layout(again, p.outputs[0].layout);
  if (std::memcmp(clean.data(), result, clean.bytes()) != 0)
    return {internal_error("the padding holds other than zeros"), {}};
  if (const int shared = (*kernel)->in_place(0); shared >= 0) {  // the input in the output's memory
    const auto k = static_cast<size_t>(shared);
    EXPECT_EQ(buffers[k].bytes(), out.bytes());
    std::memcpy(result, buffers[k].data(), out.bytes());
    addresses[k] = result;
    if (Status s = (*call)->run(args); !s.ok()) return {s, {}};
    if (std::memcmp(before.data(), result, before.size()) != 0)
      return {internal_error("in place the result differs"), {}};
  }
  return {Status(), first};
}

void expect_close(const HostTensor& actual, const HostTensor& expected, int64_t reduction, const std::string& what,
                  double slack) {
  ASSERT_TRUE(actual.valid()) << what;
  const Difference d = compare_by_place(actual, expected);
  const double tolerance = tolerance_for(expected.dtype(), reduction);
  EXPECT_TRUE(within(d, tolerance, slack)) << what << ": " << to_string(d) << ", slack " << slack;
  if (slack == 0 || d.shape_mismatch) return;
  int64_t off = 0;
  for (int64_t i = 0; i < expected.volume(); ++i)
    off += std::fabs(actual.get_f64(i) - expected.get_f64(i)) > tolerance * d.scale;
  EXPECT_LE(off, 2 + expected.volume() / 100) << what << ": " << to_string(d);
}

int check_offers(const Provider& provider, const Problem& problem, const std::vector<HostTensor>& inputs,
                 const std::string& what) {
  std::vector<Candidate> offers;
  std::vector<Refusal> refusals;
  provider.tactics(problem, {}, &offers, &refusals);
  const HostTensor expected = dense_oracle(problem, inputs, problem.outputs[0].dims);
  const double slack = problem.epilogue.empty() ? 0 : rounding_slack(problem.epilogue);
  int64_t reduction = inputs[1].volume();
  reduction /=
      std::max<int64_t>(1, problem.family() == Family::kConv ? inputs[1].dims()[0] : problem.outputs[0].dims.back());
  for (const Candidate& offer : offers) {
    const std::string name = what + " " + problem.key() + " by " + offer.tactic.to_string() + " " +
                             layout_name(offer.input_layouts[0]) + "->" + layout_name(offer.output_layouts[0]);
    EXPECT_GT(offer.estimate_us, 0) << name;
    const RunOutcome run = run_candidate(provider, problem, offer, inputs, problem.outputs[0].dims);
    EXPECT_TRUE(run.status.ok()) << name << ": " << run.status.message();
    if (run.status.ok()) expect_close(run.output, expected, reduction, name, slack);
  }
  for (const Refusal& r : refusals) EXPECT_FALSE(r.reason.empty()) << r.kernel;
  return static_cast<int>(offers.size());
}

namespace {

TEST(OnednnTesting, LayoutsRoundTrip) {
  std::mt19937_64 rng(1);
  const HostTensor t = random_tensor(rng, DType::kF32, {2, 19, 3, 5});
  for (const Layout layout : {Layout::kLinear, Layout::kChannelsLast, Layout::kBlocked8, Layout::kBlocked16}) {
    const GuardedBuffer b = to_layout(t, layout);
    EXPECT_EQ(compare(from_layout(b.data(), t.dtype(), t.dims(), layout), t).max_abs, 0) << layout_name(layout);
  }
  const GuardedBuffer last = to_layout(t, Layout::kChannelsLast);
  EXPECT_EQ(static_cast<const float*>(last.data())[1], t.as<float>()[15]);
}

TEST(OnednnTesting, OracleOfKnownValues) {
  Problem p;
  p.set_family(Family::kGemm);
  const std::vector<float> a{1, 2, 3, 4}, b{5, 6, 7, 8};
  const std::vector<HostTensor> in{HostTensor::from<float>(a, {2, 2}), HostTensor::from<float>(b, {2, 2})};
  p.inputs = {desc_of(in[0]), desc_of(in[1])};
  p.num_main = 2;
  p.outputs = {desc_of(in[0])};
  const HostTensor y = dense_oracle(p, in, {2, 2});
  EXPECT_EQ(y.get_f64(0), 19);
  EXPECT_EQ(y.get_f64(3), 50);
}

}  // namespace
}  // namespace wootz::cpu::dnn::testing
