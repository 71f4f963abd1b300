#include "backends/cpu/native_provider.h"

#include <set>

#include "backends/cpu/kernel_entry.h"
#include "backends/cpu/testing/kernel_runner.h"

namespace wootz::cpu {
namespace {

Problem relu_problem() {
  Problem p;
  p.set_family(Family::kPointwise);
  p.inputs = {rig::desc(DType::kF32, {2, 16, 4, 4})};
  p.outputs = {rig::desc(DType::kF32, {2, 16, 4, 4})};
  p.epilogue.outputs = {p.epilogue.push(PwOp::kRelu, DType::kF32, p.epilogue.input(0, DType::kF32))};
  return p;
}

TEST(NativeProvider, OffersUnderTheCapOnly) {
  const Problem p = relu_problem();
  for (const Candidate& c : rig::offers_for(p, "avx2"))
    EXPECT_TRUE(c.tactic.kernel.ends_with("_avx2")) << c.tactic.kernel;
  std::set<Layout> layouts;
  for (const Candidate& c : rig::offers_for(p, "")) layouts.insert(c.output_layouts[0]);
  EXPECT_EQ(layouts.size(), 4u);
  const Isa saved = isa_cap();
  set_isa_cap(Isa::kAvx2);
  for (const Candidate& c : rig::offers_for(p, "avx512")) EXPECT_TRUE(c.tactic.kernel.ends_with("_avx2"));
  set_isa_cap(Isa::kNone);
  EXPECT_TRUE(rig::offers_for(p, "").empty());
  set_isa_cap(saved);
}

TEST(NativeProvider, CreateRefusesWhatItDoesNotKnow) {
  const Problem p = relu_problem();
  const Limits limits;
  const auto made = [&](const char* kernel, const Problem& problem, const char* cap) {
    Limits l;
    l.isa_cap = cap;
    return native_provider().create({"native", kernel, ""}, problem, l).ok();
  };
  EXPECT_TRUE(made("pointwise_any_blocks_avx2", p, ""));
  EXPECT_FALSE(made("pointwise_any_blocks_avx512", p, "avx2"));
  for (const char* name : {"", "_", "pointwise", "pointwise_any_blocks", "pointwise_any_blocks_",
                           "pointwise_any_blocks_none", "x_avx2", "softmax_float_lines_avx2"})
    EXPECT_FALSE(made(name, p, "")) << name;
  Problem bad = p;
  bad.outputs.clear();
  EXPECT_FALSE(made("pointwise_any_blocks_avx2", bad, ""));
  bad = p;
  bad.inputs[0].dims = {2, 3};
  EXPECT_FALSE(made("pointwise_any_blocks_avx2", bad, ""));
  bad = p;
  bad.inputs[0].layout = static_cast<Layout>(77);
  EXPECT_FALSE(made("pointwise_any_blocks_avx2", bad, ""));
  bad = p;
  bad.inputs[0].dims = {-1, 16, 4, 4};
  EXPECT_FALSE(made("pointwise_any_blocks_avx2", bad, ""));
  bad = p;
  bad.num_main = 9;
  EXPECT_FALSE(made("pointwise_any_blocks_avx2", bad, ""));
  bad = p;
  bad.epilogue.code[0].a = 40;
  EXPECT_FALSE(made("pointwise_any_blocks_avx2", bad, ""));
}

// Every family's problems with parameters, types, layouts, extents and counts changed at random: offers, create and
// bind answer, and what binds at the problem's own extents runs without leaving its memory (checked by guards, and by
// the sanitizers).
TEST(NativeProvider, SurvivesHostileProblems) {
  std::mt19937_64 rng(rig::seed());
  int ran = 0;
  for (int round = 0; round < 4000; ++round) {
    Problem p;
    p.set_family(static_cast<Family>(rng() % kFamilyCount));
    const auto small = [&] { return static_cast<int64_t>(rng() % 5) - (rng() % 8 == 0 ? 3 : 0); };
    const auto list = [&] {
      std::vector<int64_t> v(rng() % 6);
      for (auto& x : v) x = rng() % 20 == 0 ? static_cast<int64_t>(rng()) : small();
      return v;
    };
    for (const ParamField& field : family_table(p.family()).fields) {
      const ParamRef ref = field.of(params_address(p.params));
      if (auto* const* v = std::get_if<Ints*>(&ref)) **v = list();
      if (auto* const* v = std::get_if<bool*>(&ref)) **v = rng() % 2 != 0;
      if (auto* const* v = std::get_if<int64_t*>(&ref)) **v = rng() % 20 == 0 ? static_cast<int64_t>(rng()) : small();
      if (const auto* v = std::get_if<ChoiceRef>(&ref))
        *v->value = static_cast<uint8_t>(rng() % choice_count(v->names));
    }
    const DType types[] = {DType::kF32, DType::kF32, DType::kF32, DType::kF16, DType::kI64,
                           DType::kI32, DType::kU8,  DType::kI4,  DType::kBool};
    const DType type = types[rng() % std::size(types)];
    const int rank = static_cast<int>(rng() % 5);
    Dims base;
    for (int d = 0; d < rank; ++d) base.push_back(static_cast<int64_t>(rng() % 5));
    const auto tensor = [&] {
      Dims dims = base;
      if (rng() % 3 == 0 && !dims.empty()) dims[rng() % dims.size()] = static_cast<int64_t>(rng() % 6);
      if (rng() % 6 == 0) dims.push_back(static_cast<int64_t>(rng() % 3));
      TensorDesc t = rig::desc(rng() % 4 == 0 ? types[rng() % std::size(types)] : type, dims);
      if (rng() % 6 == 0) t.layout = static_cast<Layout>(rng() % 6);
      return t;
    };
    for (size_t i = rng() % 4; i-- > 0;) p.inputs.push_back(tensor());
    for (size_t i = 1 + (rng() % 5 == 0); i-- > 0;) p.outputs.push_back(tensor());
    p.num_main = p.family() == Family::kPointwise ? 0 : static_cast<int>(p.inputs.size());
    if (p.family() == Family::kPointwise && !p.inputs.empty())
      p.epilogue.outputs = {p.epilogue.push(PwOp::kAbs, p.inputs[0].dtype, p.epilogue.input(0, p.inputs[0].dtype))};
    for (const Candidate& offer : rig::offers_for(p, "")) {
      std::vector<HostTensor> inputs;
      for (const TensorDesc& t : p.inputs) inputs.push_back(rig::random_tensor(rng, t.dtype, t.dims, -2, 2));
      SCOPED_TRACE(p.key());
      (void)rig::run_candidate(p, offer, inputs, {}, false);  // an error (an index out of range) is an answer
      ++ran;
    }
  }
  EXPECT_GT(ran, 50);
}

}  // namespace
}  // namespace wootz::cpu
