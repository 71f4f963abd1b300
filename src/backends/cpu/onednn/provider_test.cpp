// The provider's promises whatever the problem: refusals instead of crashes, packed weights that are checked, calls
// that several threads may run at a time.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "backends/cpu/onednn/env.h"
#include "backends/cpu/onednn/provider.h"
#include "backends/cpu/onednn/testing.h"
#include "base/thread_pool.h"

namespace wootz::cpu::dnn::testing {
namespace {

Problem conv_problem() {
  Problem p;
  p.set_family(Family::kConv);
  p.params = ConvParams{.strides = {1, 1},
                        .dilations = {1, 1},
                        .pads = {1, 1, 1, 1},
                        .groups = 1,
                        .transposed = false,
                        .has_bias = false};
  p.num_main = 2;
  p.inputs = {{DType::kF32, Layout::kLinear, {2, 32, 14, 14}, {2, 32, 14, 14}, false},
              {DType::kF32, Layout::kLinear, {48, 32, 3, 3}, {48, 32, 3, 3}, true}};
  p.outputs = {{DType::kF32, Layout::kLinear, {2, 48, 14, 14}, {2, 48, 14, 14}, false}};
  return p;
}
Problem gemm_problem() {
  Problem p;
  p.set_family(Family::kGemm);
  p.params = GemmParams{.trans_a = false, .trans_b = false, .alpha = 1.0, .has_bias = false};
  p.num_main = 2;
  p.inputs = {{DType::kF32, Layout::kLinear, {40, 64}, {40, 64}, false},
              {DType::kF32, Layout::kLinear, {64, 96}, {64, 96}, true}};
  p.outputs = {{DType::kF32, Layout::kLinear, {40, 96}, {40, 96}, false}};
  return p;
}

std::vector<Candidate> offers_for(const Problem& p) {
  std::vector<Candidate> offers;
  std::vector<Refusal> refusals;
  onednn_provider().tactics(p, {}, &offers, &refusals);
  return offers;
}

struct Prepared {
  Problem problem;
  std::unique_ptr<Kernel> kernel;
  RawBytes packed;
};
Prepared prepare(const Problem& problem, const HostTensor& weights) {
  const std::vector<Candidate> offers = offers_for(problem);
  Prepared made{with_layouts(problem, offers.at(0)), nullptr, {}};
  made.kernel = std::move(onednn_provider().create(offers[0].tactic, made.problem, {})).value();
  auto packed = made.kernel->pack(1, weights);
  if (packed.ok() && packed->has_value()) made.packed = make_bytes(**packed).value();
  return made;
}
Result<std::unique_ptr<Call>> bind_weights(const Prepared& p, const void* weights, size_t bytes) {
  const std::vector<Dims> in{p.problem.inputs[0].dims, p.problem.inputs[1].dims}, out{p.problem.outputs[0].dims};
  const std::vector<const void*> constants{nullptr, weights};
  const std::vector<size_t> sizes{0, bytes};
  return p.kernel->bind({in, out, constants, sizes});
}

TEST(OnednnProvider, SaysWhoItIs) {
  EXPECT_STREQ(onednn_provider().name(), "onednn");
  EXPECT_NE(onednn_provider().version().find("3."), std::string::npos) << onednn_provider().version();
}

// Tests of narrow types are skipped where oneDNN has no instructions for them: it must use what the processor has.
TEST(OnednnProvider, UsesWhatTheProcessorHas) {
  const CpuInfo& cpu = cpu_info();
  if (usable_isa() != cpu.best() || std::getenv("ONEDNN_MAX_CPU_ISA") != nullptr) GTEST_SKIP() << "capped";
  EXPECT_EQ(effective_isa(), cpu.best()) << effective_isa_text();
  EXPECT_EQ(exact_int8(), cpu.avx512_vnni || cpu.avx_vnni) << effective_isa_text();
  EXPECT_EQ(runs_f16(), cpu.avx512_fp16) << effective_isa_text();
}

TEST(OnednnProvider, ManyThreadsRunOneCall) {
  std::mt19937_64 rng(test_seed());
  for (const Problem& problem : {conv_problem(), gemm_problem()}) {
    const HostTensor weights = random_tensor(rng, DType::kF32, problem.inputs[1].dims);
    const ParallelScope one(1);  // as many threads as it was bound for, in every runner
    const Prepared p = prepare(problem, weights);
    // Some kernels take the weights as they are.
    const bool as_is = p.packed.empty();
    const void* form = as_is ? weights.data() : p.packed.data();
    auto call = bind_weights(p, form, as_is ? weights.bytes() : p.packed.size());
    ASSERT_TRUE(call.ok()) << call.status().message();
    constexpr int kThreads = 7;  // more than the call keeps sets of arguments for
    std::vector<HostTensor> xs, ys;
    for (int i = 0; i < kThreads; ++i) {
      xs.push_back(random_tensor(rng, DType::kF32, problem.inputs[0].dims));
      ys.push_back(dense_oracle(problem, {xs.back(), weights}, problem.outputs[0].dims));
    }
    std::atomic<int> ready{0}, failures{0};
    std::vector<HostTensor> results(kThreads);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([&, i] {
        const ParallelScope scope(1);
        const GuardedBuffer x = to_layout(xs[static_cast<size_t>(i)], p.problem.inputs[0].layout);
        GuardedBuffer y(layout_bytes(p.problem.outputs[0].layout, DType::kF32, problem.outputs[0].dims));
        GuardedBuffer work(((*call)->workspace() + 63) / 64 * 64);
        const void* inputs[] = {x.data(), form};
        void* outputs[] = {y.data()};
        ++ready;
        while (ready < kThreads) std::this_thread::yield();
        for (int round = 0; round < 50; ++round) {
          std::memset(y.data(), 0xff, y.bytes());
          if (!(*call)->run({inputs, outputs, work.data(), nullptr, nullptr}).ok()) ++failures;
        }
        results[static_cast<size_t>(i)] =
            from_layout(y.data(), DType::kF32, problem.outputs[0].dims, p.problem.outputs[0].layout);
      });
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(failures, 0);
    for (size_t i = 0; i < kThreads; ++i) expect_close(results[i], ys[i], 288, "thread " + std::to_string(i));
  }
}

TEST(OnednnProvider, PackedWeightsAreChecked) {
  std::mt19937_64 rng(5);
  const Prepared p = prepare(conv_problem(), random_tensor(rng, DType::kF32, {48, 32, 3, 3}));
  ASSERT_FALSE(p.packed.empty());
  EXPECT_TRUE(bind_weights(p, p.packed.data(), p.packed.size()).ok());
  EXPECT_EQ(bind_weights(p, p.packed.data(), p.packed.size() - 1).status().code(), Code::kCorrupt);
  EXPECT_EQ(bind_weights(p, p.packed.data(), 3).status().code(), Code::kCorrupt);
  EXPECT_FALSE(bind_weights(p, nullptr, 0).ok());
  for (size_t at = 0; at < 32; at += 5) {
    auto damaged = p.packed;
    damaged[at] ^= std::byte{1};
    EXPECT_EQ(bind_weights(p, damaged.data(), damaged.size()).status().code(), Code::kCorrupt) << at;
  }
}

TEST(OnednnProvider, RefusesTacticsThatItDoesNotKnow) {
  const Candidate offer = offers_for(conv_problem()).at(0);
  const Problem p = with_layouts(conv_problem(), offer);
  for (const char* config : {"", "w=", "w=nonsense", "w=ab", "w=abcdefghijkl", "w=any;", "x", "w=Acdb16a16b"}) {
    Tactic t = offer.tactic;
    t.config = config;
    const auto made = onednn_provider().create(t, p, {});
    EXPECT_FALSE(made.ok()) << config;
    EXPECT_FALSE(made.status().message().empty());
  }
  Tactic t = offer.tactic;
  t.kernel = "conv_f32_channels_last_quantum";
  EXPECT_FALSE(onednn_provider().create(t, p, {}).ok());
  Limits capped;
  capped.isa_cap = "none";
  EXPECT_FALSE(onednn_provider().create(offer.tactic, p, capped).ok());
}

// Every kind of damage that a plan can do to a problem: an answer, never a crash.
template <typename Pick, typename Value>
void damage_params(Problem* p, const Pick& pick, const Value& value) {
  if (auto* conv = std::get_if<ConvParams>(&p->params)) {
    switch (pick(5)) {
      case 0: conv->strides = Ints(pick(4), value()); break;
      case 1: conv->pads = Ints(pick(6), value()); break;
      case 2: conv->dilations = Ints(pick(6), value()); break;
      case 3: conv->groups = value(); break;
      default: conv->has_bias = !conv->has_bias; break;
    }
  } else if (auto* gemm = std::get_if<GemmParams>(&p->params)) {
    switch (pick(4)) {
      case 0: gemm->trans_a = !gemm->trans_a; break;
      case 1: gemm->trans_b = !gemm->trans_b; break;
      case 2: gemm->has_bias = !gemm->has_bias; break;
      default: gemm->w_scale = Floats(pick(4), static_cast<double>(value())); break;
    }
  }
}

TEST(OnednnProvider, SurvivesHostileProblems) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 rng(seed);
  const auto pick = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(rng); };
  const int64_t values[] = {0, -1, 1, 2, 3, 7, 64, INT32_MAX, int64_t{1} << 31, int64_t{1} << 39, INT64_MAX, INT64_MIN};
  const auto value = [&] { return values[pick(std::size(values))]; };
  int answers = 0;
  for (int round = 0; round < 3000; ++round) {
    Problem p = pick(2) ? conv_problem() : gemm_problem();
    const std::vector<Candidate> offers = offers_for(p);
    const Candidate& offer = offers[pick(offers.size())];
    p = with_layouts(p, offer);
    for (size_t damage = 1 + pick(2); damage-- > 0;) {
      const size_t tensor = pick(3);
      TensorDesc& t = tensor < 2 && !p.inputs.empty() ? p.inputs[tensor % p.inputs.size()] : p.outputs[0];
      switch (pick(12)) {
        case 0: t.dims = {}; break;
        case 1: (pick(2) ? t.dims : t.max_dims).push_back(value()); break;
        case 2:
          if (!t.dims.empty()) t.dims[pick(t.dims.size())] = value();
          break;
        case 3:
          if (!t.max_dims.empty()) t.max_dims[pick(t.max_dims.size())] = value();
          break;
        case 4: t.dtype = static_cast<DType>(pick(30)); break;
        case 5: t.layout = static_cast<Layout>(pick(8)); break;
        case 6: t.constant = !t.constant; break;
        case 7:
        case 8:
        case 9: damage_params(&p, pick, value); break;
        case 10: p.num_main = static_cast<int>(value()); break;
        default: p.inputs.resize(pick(4)); break;
      }
      if (!t.dims.empty() && pick(2)) t.max_dims = t.dims;
    }
    const auto made = onednn_provider().create(offer.tactic, p, {});
    answers += !made.ok();
    if (!made.ok()) EXPECT_FALSE(made.status().message().empty());
    std::vector<Candidate> again;
    std::vector<Refusal> refusals;
    if (!p.outputs.empty()) onednn_provider().tactics(p, {}, &again, &refusals);
  }
  EXPECT_GT(answers, 1000);
}

TEST(OnednnProvider, BindRefusesOtherExtents) {
  std::mt19937_64 rng(5);
  const Prepared p = prepare(conv_problem(), random_tensor(rng, DType::kF32, {48, 32, 3, 3}));
  const std::vector<const void*> constants{nullptr, p.packed.data()};
  const std::vector<size_t> sizes{0, p.packed.size()};
  const auto bound = [&](std::vector<Dims> in, std::vector<Dims> out) {
    return p.kernel->bind({in, out, constants, sizes}).ok();
  };
  const Dims x{2, 32, 14, 14}, w{48, 32, 3, 3}, y{2, 48, 14, 14};
  EXPECT_TRUE(bound({x, w}, {y}));
  EXPECT_FALSE(bound({x, w}, {}));
  EXPECT_FALSE(bound({x}, {y}));
  EXPECT_FALSE(bound({x, Dims{48, 32, 1, 1}}, {y}));
  EXPECT_FALSE(bound({x, w}, {Dims{2, 48, 14, 13}}));
  EXPECT_FALSE(bound({Dims{2, 31, 14, 14}, w}, {y}));
  EXPECT_FALSE(bound({Dims{2, 32, -1, 14}, w}, {y}));
  EXPECT_FALSE(bound({Dims{2, 32, INT64_MAX, 14}, w}, {Dims{2, 48, INT64_MAX, 14}}));
}

}  // namespace
}  // namespace wootz::cpu::dnn::testing
