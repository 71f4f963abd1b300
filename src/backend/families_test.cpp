#include "backend/families.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "backend/op_kernels.h"
#include "base/testing.h"

namespace wootz {
namespace {

std::string text_of(const FamilyParams& params) {
  std::string text;
  append_params(params, &text);
  return text;
}

// Errors of the text of parameters, empty where it reads back.
std::string refusal(std::string_view text) {
  const Result<FamilyParams> read = parse_family_params(text);
  return read.ok() ? "" : read.status().message();
}

TEST(Families, DefaultsHaveNoText) {
  for (int f = 0; f < kFamilyCount; ++f) {
    const auto family = static_cast<Family>(f);
    const FamilyParams params = default_params(family);
    EXPECT_EQ(family_of(params), family);
    EXPECT_EQ(text_of(params), std::string(family_name(family)) + "{}");
    EXPECT_TRUE(check_params(params).ok()) << family_name(family);
  }
}

TEST(Families, TextsAreReadable) {
  EXPECT_EQ(text_of(ConvParams{.strides = {2, 2}, .pads = {0, 1, 0, 1}, .has_bias = true, .x_scale = {0.5}}),
            "conv{strides=[2,2];pads=[0,1,0,1];has_bias=1;x_scale=[0x1p-1]}");
  EXPECT_EQ(text_of(PoolParams{.kind = PoolKind::kAvg, .kernel = {3, 3}}), "pool{kind=avg;kernel=[3,3]}");
  EXPECT_EQ(text_of(RnnParams{.activations = {RnnFunction::kTanh, RnnFunction::kElu}}), "rnn{activations=[tanh,elu]}");
  EXPECT_EQ(text_of(ChainParams{.first = box_params(ConvParams{.groups = 4}), .middle = DType::kF16}),
            "chain{first=conv{groups=4};middle=f16}");
  EXPECT_EQ(text_of(OpParams{.op = "Trilu", .kernel = box_params(TriluOpParams{.k = -1}), .constants = {{}, Ints{7}}}),
            "op{op=\"Trilu\";kernel=Trilu{k=-1};constants=[none,[7]]}");
}

// What may stand in a field of a type, by chance.
struct Draw {
  std::mt19937_64& rng;
  int64_t whole() const { return static_cast<int64_t>(rng() % 5); }
  double real() const {
    const double some[] = {-0.0, 0.1, -1e300, 5e-324, std::nan(""), INFINITY, -INFINITY, 3};
    return some[rng() % std::size(some)];
  }
  Ints list() const {
    Ints made(rng() % 4);
    for (int64_t& v : made) v = whole();
    return made;
  }
  void operator()(bool* v) const { *v = rng() % 2 != 0; }
  void operator()(int64_t* v) const { *v = rng() % 2 != 0 ? 1 : whole(); }
  void operator()(double* v) const { *v = real(); }
  void operator()(std::string* v) const {
    *v = rng() % 2 != 0 ? "" : "a\"b\\;}c=[1]\n" + std::string(1, '\0') + std::to_string(rng() % 9);
  }
  void operator()(DType* v) const { *v = static_cast<DType>(rng() % static_cast<uint64_t>(kDTypeCount)); }
  void operator()(Ints* v) const { *v = list(); }
  void operator()(Floats* v) const {
    v->resize(rng() % 3);
    for (double& e : *v) e = real();
  }
  void operator()(IntLists* v) const {
    v->resize(rng() % 3);
    for (Ints& e : *v) e = list();
  }
  void operator()(MaybeInt* v) const { *v = rng() % 2 != 0 ? MaybeInt() : MaybeInt(whole()); }
  void operator()(MaybeInts* v) const { *v = rng() % 2 != 0 ? MaybeInts() : MaybeInts(list()); }
  void operator()(MaybeIntLists* v) const {
    v->resize(rng() % 3);
    for (MaybeInts& e : *v) (*this)(&e);
  }
  void operator()(PointwiseExpr* v) const {
    if (rng() % 2 != 0) return;
    v->outputs = {v->push(PwOp::kRelu, DType::kF32, v->input(0, DType::kF32))};
  }
  void operator()(const ChoiceRef& v) const { *v.value = static_cast<uint8_t>(rng() % choice_count(v.names)); }
  void operator()(const ChoicesRef& v) const {
    for (uint64_t i = rng() % 3; i > 0; --i) v.add(v.list, static_cast<uint8_t>(rng() % choice_count(v.names)));
  }
  void operator()(const BoxRef& v) const {
    if (rng() % 2 != 0) return;
    if (v.kind == &kOpBoxes)
      *v.box = box_params(LrnOpParams{.size = 5});
    else
      *v.box = box_params(GemmParams{.alpha = 2});
  }
};

void draw(const ParamTable& table, void* params, std::mt19937_64& rng) {
  for (const ParamField& field : table.fields)
    if (rng() % 2 != 0) std::visit(Draw{rng}, field.of(params));
}

TEST(Families, EveryTextReadsBack) {
  std::mt19937_64 rng(test_seed());
  for (int round = 0; round < 4000; ++round) {
    FamilyParams params = default_params(static_cast<Family>(rng() % static_cast<uint64_t>(kFamilyCount)));
    draw(family_table(family_of(params)), params_address(params), rng);
    const std::string text = text_of(params);
    const Result<FamilyParams> back = parse_family_params(text);
    if (!back.ok()) {  // a number out of range, and the check of the struct says the same
      EXPECT_EQ(back.status().message(), check_params(params).message()) << text;
      continue;
    }
    EXPECT_TRUE(check_params(params).ok()) << text;
    EXPECT_EQ(text_of(*back), text);
    EXPECT_TRUE(*back == params || text.find("nan") != std::string::npos) << text;
  }
}

TEST(Families, EveryOpKernelReadsBack) {
  std::mt19937_64 rng(test_seed());
  for (size_t k = 0; k < kOpKernelCount; ++k)
    for (int round = 0; round < 50; ++round) {
      EXPECT_EQ(op_kernel_index(op_kernel_table(k).name), k);
      OpKernelParams params = default_op_params(k);
      draw(op_kernel_table(k), params_address(params), rng);
      const std::string text = text_of(OpParams{.kernel = box_params(params)});
      const Result<FamilyParams> back = parse_family_params(text);
      if (back.ok()) EXPECT_EQ(text_of(*back), text);
    }
}

TEST(Families, RefusalsNameFamilyParameterValueAndWhatIsAllowed) {
  EXPECT_EQ(refusal("conv{strides=[1,0]}"),
            "conv: parameter 'strides' is [1,0]; allowed: Ints, at least 1, at most 2147483647");
  EXPECT_EQ(refusal("pool{kind=median}"), "pool: parameter 'kind' is median; allowed: one of max, avg, lp");
  EXPECT_EQ(refusal("conv{stride=[1,1]}"), "conv: no parameter 'stride'");
  EXPECT_EQ(refusal("conv{groups=1;groups=1}"), "conv: parameter 'groups' twice");
  EXPECT_EQ(refusal("rnn{activations=[tanh,cubic]}").find("rnn: parameter 'activations' is [tanh,cubic]"), 0u);
  EXPECT_EQ(refusal("chain{first=conv{groups=0}}").find("chain: parameter 'first': conv: parameter 'groups' is 0"), 0u);
  EXPECT_EQ(refusal("convolution{}"), "this build knows no kernel family 'convolution'");
  EXPECT_EQ(refusal("op{kernel=Trilu{upper=2}}").find("op: parameter 'kernel': Trilu: parameter 'upper' is 2"), 0u);
  EXPECT_EQ(refusal("control{op=Jump}"), "control: parameter 'op' is Jump; allowed: one of If, Loop, Scan");
}

TEST(Families, WhatIsNoTextIsRefused) {
  for (const char* text : {"",
                           "conv",
                           "conv{",
                           "conv{groups}",
                           "conv{groups=}",
                           "conv{groups=1",
                           "conv{groups=1}}",
                           "conv{groups=1,transposed=1}",
                           "conv{;}",
                           "conv{strides=[1,]}",
                           "conv{strides=1}",
                           "conv{transposed=2}",
                           "conv{groups=99999999999999999999}",
                           "norm{epsilon=1.5}",
                           "norm{epsilon=0x}",
                           "op{op=\"a}",
                           "op{op=\"a\\",
                           "softmax{axis=none}",
                           "chain{first=chain{first=chain{first=chain{first=conv{}}}}}",
                           "siblings{joint=siblings{joint=conv{}}}",
                           "siblings{joint=chain{first=siblings{joint=conv{}}}}",
                           "op{kernel=Nothing{}}",
                           "chain{middle=f7}",
                           "chain{first_epilogue=\"v0=input.f32(0)\"}"})
    EXPECT_NE(refusal(text), "") << text;
  for (const char* text : {"chain{first=chain{first=pointwise{};second=conv{}};second=pool{}}",
                           "chain{first=chain{first=conv{};second=chain{first=move{};second=conv{}}};second=conv{}}",
                           "siblings{joint=chain{first=pointwise{};second=conv{}}}"})
    EXPECT_EQ(refusal(text), "") << text;
}

TEST(Families, AttributesBecomeParameters) {
  PadOpParams pad;
  const auto set = [&](std::string_view name, const ParamSource& value) {
    for (const ParamField& field : op_kernel_table(*op_kernel_index("Pad")).fields)
      if (name == field.name) return assign_param(field, &pad, value);
    return false;
  };
  EXPECT_TRUE(set("mode", std::string("REFLECT")));
  EXPECT_EQ(pad.mode, PadMode::kReflect);
  EXPECT_FALSE(set("mode", std::string("mirror")));
  EXPECT_TRUE(set("pads", Ints{1, 2}));
  EXPECT_EQ(pad.pads, (MaybeInts{{1, 2}}));
  EXPECT_FALSE(set("pads", 1.5));
}

}  // namespace
}  // namespace wootz
