// Operands, results and scratch between memory that may not be touched, over random problems and numbers of threads. A
// touch is noted and then allowed, so that a test says what was touched and by which tactic.
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "backends/cpu/onednn/env.h"
#include "backends/cpu/onednn/provider.h"
#include "backends/cpu/onednn/testing.h"
#include "base/thread_pool.h"

namespace wootz::cpu::dnn::testing {
namespace {

constexpr size_t kPage = 4096, kMoat = 256 * 1024;
constexpr size_t kMostFences = 16;
constexpr int kThreads[] = {1, 2, 3, 8, 16};

// Memory with a moat on both sides; the bytes lie against one of them.
class Fence {
 public:
  Fence(size_t bytes, bool at_end) : body_(std::max<size_t>(1, (bytes + kPage - 1) / kPage) * kPage) {
    void* map = mmap(nullptr, body_ + 2 * kMoat, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) std::abort();
    map_ = static_cast<char*>(map);
    data_ = at_end ? map_ + kMoat + body_ - bytes : map_ + kMoat;
    mprotect(map_, kMoat, PROT_NONE);
    mprotect(after(), kMoat, PROT_NONE);
  }
  Fence(const Fence&) = delete;
  ~Fence() { munmap(map_, body_ + 2 * kMoat); }

  char* data() const { return data_; }
  // Whether the address is in a moat, which is then opened.
  bool touch(const char* at, bool write) {
    const bool before = at >= map_ && at < map_ + kMoat;
    if (!before && (at < after() || at >= after() + kMoat)) return false;
    (before ? write ? written_before_ : read_before_ : write ? written_after_ : read_after_) = true;
    mprotect(before ? map_ : after(), kMoat, PROT_READ | PROT_WRITE);
    if (!write) std::memset(before ? map_ : after(), 0x7b, kMoat);  // what is read shows
    return true;
  }
  std::string touched() const {
    std::string text;
    if (read_before_) text += " read before it";
    if (written_before_) text += " written before it";
    if (read_after_) text += " read after it";
    if (written_after_) text += " written after it";
    return text;
  }

 private:
  char* after() const { return map_ + kMoat + body_; }

  size_t body_;
  char *map_ = nullptr, *data_ = nullptr;
  std::atomic<bool> read_before_{false}, written_before_{false}, read_after_{false}, written_after_{false};
};

// Handles touches of the fences for its life. A fault elsewhere ends the program as it would have.
class Watch {
 public:
  explicit Watch(const std::vector<std::unique_ptr<Fence>>& fences) {
    for (size_t i = 0; i < kMostFences; ++i) g_fences[i] = i < fences.size() ? fences[i].get() : nullptr;
    struct sigaction action = {};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, &before_);
  }
  Watch(const Watch&) = delete;
  ~Watch() { sigaction(SIGSEGV, &before_, nullptr); }

 private:
  static void handle(int, siginfo_t* info, void* context) {
    constexpr int64_t kWrite = 2;
    const bool write = (static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & kWrite) != 0;
    for (Fence* fence : g_fences)
      if (fence != nullptr && fence->touch(static_cast<const char*>(info->si_addr), write)) return;
    signal(SIGSEGV, SIG_DFL);
  }
  static inline Fence* g_fences[kMostFences] = {};
  struct sigaction before_;
};

struct Case {
  Problem problem;
  std::vector<HostTensor> inputs;
};

// Convolutions that were found to touch other memory, or to take their results from there, and what is drawn.
struct ConvShape {
  DType type;
  bool zero;
  Dims x, w;
  Ints strides, dilations, pads;
  int64_t groups = 1;
  bool transposed = false;
};

DType random_epilogue(std::mt19937_64& rng, DType type, const Dims& y, Case* c) {
  const auto pick = [&](int64_t high) { return std::uniform_int_distribution<int64_t>(0, high)(rng); };
  const bool integer = is_int8(type);
  DType out = integer ? DType::kF32 : type;
  if (out == DType::kF32 && pick(1) == 0) return out;
  PointwiseExpr e;
  uint16_t v = e.input(0, DType::kF32);
  if (pick(2) == 0) {
    c->inputs.push_back(random_tensor(rng, DType::kF32, y));
    c->problem.inputs.push_back(desc_of(c->inputs.back()));
    v = e.push(PwOp::kAdd, DType::kF32, v, e.input(1, DType::kF32));
  }
  v = e.push(PwOp::kRelu, DType::kF32, v);
  if (integer && pick(3) != 0) {
    out = pick(1) ? DType::kU8 : DType::kI8;
    v = e.push(PwOp::kQuantize, out, v, e.constant(0.04f, DType::kF32),
               e.push(PwOp::kCast, DType::kF32, e.constant(3, out)));
  } else if (out != DType::kF32) {
    v = e.push(PwOp::kCast, out, v);
  }
  e.outputs = {v};
  c->problem.epilogue = e;
  return out;
}

template <typename Params>
void set_grids(DType type, bool zero, Params* params) {
  if (!is_int8(type)) return;
  params->x_scale = {0.02};
  params->x_zero = {!zero ? 0.0 : type == DType::kU8 ? 121.0 : 11.0};
  params->w_scale = {0.001};
}

Case conv_case(std::mt19937_64& rng, const ConvShape& s) {
  Case c;
  Problem& p = c.problem;
  p.set_family(Family::kConv);
  const size_t spatial = s.x.size() - 2;
  Dims y{s.x[0], s.transposed ? s.w[1] * s.groups : s.w[0]};
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t span = (s.w[i + 2] - 1) * s.dilations[i] + 1, pads = s.pads[i] + s.pads[spatial + i];
    y.push_back(s.transposed ? (s.x[i + 2] - 1) * s.strides[i] + span - pads
                             : (s.x[i + 2] + pads - span) / s.strides[i] + 1);
  }
  ConvParams params;
  params.strides = s.strides, params.dilations = s.dilations, params.pads = s.pads;
  params.groups = s.groups, params.transposed = s.transposed;
  params.has_bias = rng() % 2 != 0;
  if (s.transposed) params.output_pads = Ints(spatial, 0);
  set_grids(s.type, s.zero, &params);
  p.params = params;
  c.inputs = {random_tensor(rng, s.type, s.x, 0, 100),
              random_tensor(rng, is_int8(s.type) ? DType::kI8 : s.type, s.w, -100, 100)};
  p.inputs = {desc_of(c.inputs[0]), desc_of(c.inputs[1], true)};
  if (params.has_bias) {
    c.inputs.push_back(random_tensor(rng, is_int8(s.type) ? DType::kF32 : s.type, {y[1]}));
    p.inputs.push_back(desc_of(c.inputs[2], true));
  }
  p.num_main = static_cast<int>(p.inputs.size());
  p.acc_dtype = DType::kF32;
  const DType out = random_epilogue(rng, s.type, y, &c);
  p.outputs = {{out, Layout::kLinear, y, y, false}};
  return c;
}

// Windows that take each element once.
void lay_side_by_side(size_t spatial, ConvShape* s) {
  s->pads.assign(2 * spatial, 0);
  for (size_t i = 0; i < spatial; ++i) {
    s->strides[i] = s->w[i + 2], s->dilations[i] = 1;
    s->x[i + 2] = s->x[i + 2] / s->w[i + 2] * s->w[i + 2];
    if (s->x[i + 2] == 0) s->x[i + 2] = s->w[i + 2];
  }
}

ConvShape random_shape(std::mt19937_64& rng, DType type) {
  const auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng); };
  ConvShape s{.type = type, .zero = pick(0, 1) != 0};
  const int64_t kind = pick(0, 9), step = pick(0, 2) != 0 ? 8 : 1;
  const bool by_channel = kind == 1;
  s.groups = kind == 0 ? pick(2, 4) : by_channel ? 8 * pick(1, 6) + pick(0, 1) : 1;
  s.transposed = kind >= 8;
  const int64_t in = by_channel ? 1 : step * pick(1, 10), out = by_channel ? 1 : step * pick(1, 10);
  s.x = {pick(1, 2), s.groups * in};
  s.w = s.transposed ? Dims{s.groups * in, out} : Dims{s.groups * out, in};
  const auto spatial = static_cast<size_t>(std::max<int64_t>(1, pick(-1, 3)));
  s.pads.assign(2 * spatial, 0);
  for (size_t i = 0; i < spatial; ++i) {
    const bool last = i + 1 == spatial;
    const int64_t k = pick(0, 1) ? 1 : pick(1, spatial == 3 ? 3 : 5);
    const int64_t dilation = s.transposed || pick(0, 5) != 0 ? 1 : 2, span = (k - 1) * dilation + 1;
    s.strides.push_back(pick(0, 2) ? 1 : pick(2, 3));
    s.dilations.push_back(dilation);
    s.pads[i] = pick(0, k / 2), s.pads[spatial + i] = pick(0, k / 2);
    s.x.push_back(pick(span, std::max<int64_t>(span, last && spatial < 3 && pick(0, 2) == 0 ? 50 : 9)));
    s.w.push_back(k);
  }
  if (kind == 2) lay_side_by_side(spatial, &s);
  return s;
}

Case gemm_case(std::mt19937_64& rng, DType type) {
  const auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng); };
  Case c;
  Problem& p = c.problem;
  p.set_family(Family::kGemm);
  const int64_t step = pick(0, 2) != 0 ? 8 : 1, m = pick(1, 70), n = step * pick(1, 20), k = step * pick(1, 20);
  GemmParams params;
  params.trans_a = pick(0, 3) == 0, params.trans_b = pick(0, 1) != 0;
  params.alpha = 1, params.has_bias = false;
  set_grids(type, pick(0, 1) != 0, &params);
  p.params = params;
  Dims a = params.trans_a ? Dims{k, m} : Dims{m, k}, b = params.trans_b ? Dims{n, k} : Dims{k, n}, y{m, n};
  if (pick(0, 2) == 0) a = {3, a[0], a[1]}, b = {3, b[0], b[1]}, y = {3, m, n};
  c.inputs = {random_tensor(rng, type, a, 0, 100), random_tensor(rng, is_int8(type) ? DType::kI8 : type, b, -100, 100)};
  p.inputs = {desc_of(c.inputs[0]), desc_of(c.inputs[1], pick(0, 1) != 0)};
  p.num_main = 2;
  p.acc_dtype = DType::kF32;
  const DType out = random_epilogue(rng, type, y, &c);
  p.outputs = {{out, Layout::kLinear, y, y, false}};
  return c;
}

using Fences = std::vector<std::unique_ptr<Fence>>;

std::unique_ptr<Fence> fenced(const void* data, size_t bytes, bool at_end) {
  auto fence = std::make_unique<Fence>(bytes, at_end);
  std::memcpy(fence->data(), data, bytes);
  return fence;
}

// Operand i of the kernel, as it is or packed from a source that is fenced as well.
void put_operand(const Kernel& kernel, const Case& c, const Problem& p, size_t i, bool at_end, Fences* fences,
                 size_t* bytes) {
  const GuardedBuffer laid = to_layout(c.inputs[i], p.inputs[i].layout);
  *bytes = laid.bytes();
  fences->push_back(fenced(laid.data(), *bytes, at_end));
  if (!p.inputs[i].constant) return;
  const HostTensor source = HostTensor::wrap(c.inputs[i].dtype(), c.inputs[i].dims(), fences->back()->data(), nullptr);
  const auto form = kernel.pack(static_cast<int>(i), source);
  ASSERT_TRUE(form.ok()) << form.status().message();
  if (!form->has_value()) return;
  auto packed = std::make_unique<Fence>((**form).bytes, at_end);
  {
    const Watch watch(*fences);
    ASSERT_TRUE((**form).make({reinterpret_cast<std::byte*>(packed->data()), (**form).bytes}).ok());
  }
  EXPECT_EQ(fences->back()->touched(), "") << "weights that are packed";
  *bytes = (**form).bytes;
  fences->back() = std::move(packed);
}

void check_fenced(const Kernel& kernel, const Case& c, const Problem& p, bool at_end) {
  Fences fences;
  std::vector<Dims> in;
  std::vector<const void*> constants, addresses;
  std::vector<size_t> sizes;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    size_t bytes = 0;
    put_operand(kernel, c, p, i, at_end, &fences, &bytes);
    if (::testing::Test::HasFatalFailure()) return;
    in.push_back(c.inputs[i].dims());
    addresses.push_back(fences.back()->data());
    constants.push_back(p.inputs[i].constant ? addresses.back() : nullptr);
    sizes.push_back(p.inputs[i].constant ? bytes : 0);
  }
  const TensorDesc& out = p.outputs[0];
  const std::vector<Dims> results{out.dims};
  auto call = kernel.bind({in, results, constants, sizes});
  ASSERT_TRUE(call.ok()) << call.status().message();
  fences.push_back(std::make_unique<Fence>(layout_bytes(out.layout, out.dtype, out.dims), at_end));
  void* result = fences.back()->data();
  fences.push_back(std::make_unique<Fence>(((*call)->workspace() + 63) / 64 * 64, at_end));
  {
    const Watch watch(fences);
    const Status status = (*call)->run({addresses.data(), &result, fences.back()->data(), nullptr, nullptr});
    ASSERT_TRUE(status.ok()) << status.message();
  }
  for (size_t i = 0; i < fences.size(); ++i) {
    const std::string name = i < in.size() ? "input " + std::to_string(i) : i == in.size() ? "result" : "scratch";
    EXPECT_EQ(fences[i]->touched(), "") << name;
  }
  const int64_t reduction = std::max<int64_t>(1, c.inputs[1].dims().volume() / out.dims[1]);
  constexpr double kCancelled = 1e-5;  // of sums and an operand of the epilogue
  expect_close(from_layout(result, out.dtype, out.dims, out.layout), dense_oracle(p, c.inputs, out.dims), reduction,
               "result", is_int8(out.dtype) ? 1 : kCancelled);
}

// Every offer, made for some threads and run with others. Returns how many there were.
int check_case(std::mt19937_64& rng, const Case& c) {
  const auto threads = [&] { return kThreads[rng() % std::size(kThreads)]; };
  Limits built, loaded;
  built.threads = threads();
  loaded.threads = rng() % 2 != 0 ? built.threads : threads();
  std::vector<Candidate> offers;
  std::vector<Refusal> refusals;
  onednn_provider().tactics(c.problem, built, &offers, &refusals);
  for (const Candidate& offer : offers) {
    SCOPED_TRACE(fmt::format("{}, built for {} threads, run with {}, of {}", offer.tactic.to_string(), built.threads,
                             loaded.threads, c.problem.key()));
    const ParallelScope scope(loaded.threads);
    const Problem p = with_layouts(c.problem, offer);
    auto kernel = onednn_provider().create(offer.tactic, p, loaded);
    if (!kernel.ok()) ADD_FAILURE() << kernel.status().message();
    for (const bool at_end : {true, false})
      if (kernel.ok()) check_fenced(**kernel, c, p, at_end);
  }
  return static_cast<int>(offers.size());
}

TEST(OnednnBounds, WhatTouchedOtherMemoryNoLongerDoes) {
  WOOTZ_NEEDS_ISA(exact_int8(), "avx512_vnni");
  const DType u8 = DType::kU8, i8 = DType::kI8;
  const std::vector<ConvShape> shapes = {
      {u8, false, {1, 240, 6, 6}, {64, 240, 1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},  // three tiles of positions
      {i8, true, {2, 80, 39}, {40, 80, 1}, {1}, {1}, {0, 0}},
      {u8, true, {2, 16, 4, 81}, {8, 16, 3, 1}, {1, 1}, {1, 1}, {0, 0, 1, 0}},  // padding on other axes alone
      {i8, true, {2, 128, 8, 39}, {32, 64, 2, 1}, {1, 1}, {1, 1}, {0, 0, 1, 0}, 2},
      {u8, true, {1, 40, 1, 3, 8}, {40, 40, 1, 2, 3}, {2, 1, 1}, {1, 1, 1}, {0, 0, 1, 0, 0, 1}},
      {i8, true, {1, 40, 1, 9, 7}, {48, 40, 1, 3, 2}, {2, 1, 1}, {1, 1, 1}, {0, 1, 1, 0, 0, 1}},
      {u8, true, {1, 56, 9, 23}, {56, 72, 1, 1}, {3, 1}, {1, 1}, {0, 0, 0, 0}, 1, true},  // rows that nothing reaches
      {i8, false, {1, 48, 9, 20}, {48, 56, 1, 5}, {3, 1}, {1, 1}, {0, 0, 0, 1}, 1, true},
      {u8, false, {1, 56, 8, 2, 9}, {8, 56, 1, 1, 1}, {3, 1, 1}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}},  // three dimensions
      {DType::kBF16, false, {1, 64, 3, 4, 9}, {48, 64, 1, 1, 1}, {1, 3, 1}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}},
      {i8, false, {1, 16, 2, 24}, {16, 40, 1, 4}, {1, 1}, {1, 1}, {0, 0, 0, 2}, 1, true},  // compensation
      {DType::kBF16, false, {2, 80, 32}, {32, 80, 2}, {2}, {1}, {0, 0}},  // rows of the filter side by side
      {i8, false, {1, 96, 4, 16}, {48, 96, 2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
      {u8, true, {1, 40, 6}, {40, 80, 5}, {1}, {1}, {0, 1}, 1, true},
      {i8, true, {2, 40, 9}, {40, 24, 5}, {1}, {1}, {1, 0}, 1, true},
      {DType::kBF16, false, {1, 24, 5}, {24, 72, 1}, {1}, {1}, {0, 0}, 1, true},  // without BF16's instructions
      {u8, true, {1, 48, 35, 5}, {48, 1, 4, 2}, {1, 2}, {1, 1}, {0, 0, 2, 1}, 48},
  };
  std::mt19937_64 rng(test_seed());
  for (const ConvShape& shape : shapes)
    for (int i = 0; i < 4; ++i) check_case(rng, conv_case(rng, shape));
}

TEST(OnednnBounds, NothingOutsideOperandsIsTouched) {
  std::mt19937_64 rng(test_seed());
  int offers = 0;
  for (const DType type : {DType::kU8, DType::kI8, DType::kF32, DType::kBF16, DType::kF16})
    for (int i = 0; i < 40; ++i)
      offers += check_case(rng, i % 4 == 0 ? gemm_case(rng, type) : conv_case(rng, random_shape(rng, type)));
  EXPECT_GT(offers, 40);
}

}  // namespace
}  // namespace wootz::cpu::dnn::testing
