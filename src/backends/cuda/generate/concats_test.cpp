// Several concatenations as one step.
#include "backend/concats.h"

#include <gtest/gtest.h>

#include <functional>

#include "backend/operand_dims.h"
#include "backends/cuda/generate/families.h"

namespace wootz::cuda {
namespace {

// Two of a part in FP32, and of one that is transposed.
Problem caches() {
  Problem p;
  p.params = ConcatsParams{.axis = 1, .counts = {2, 2}, .perms = {{0, 1, 2}, {1, 0, 2}, {0, 1, 2}, {1, 0, 2}}};
  const auto add = [](std::vector<TensorDesc>* to, DType type, const Dims& dims) {
    to->push_back({type, Layout::kLinear, dims, dims, false});
  };
  for (int i = 0; i < 2; ++i) {
    add(&p.inputs, DType::kF32, {3, 5, 8});
    add(&p.inputs, DType::kF16, {2, 3, 8});
    add(&p.outputs, DType::kF16, {3, 7, 8});
  }
  p.num_main = 4;
  p.acc_dtype = DType::kF16;
  return p;
}

TEST(Concats, ArePartsOneAfterTheOther) {
  const Problem p = caches();
  const auto parts = concat_parts(p, operand_dims(p.inputs), operand_dims(p.outputs));
  ASSERT_TRUE(parts.ok()) << parts.status().to_string();
  ASSERT_EQ(parts->size(), 4u);
  EXPECT_EQ((*parts)[3].at, 5);
  EXPECT_EQ((*parts)[3].output, 1u);
  EXPECT_EQ((*parts)[3].perm, (Ints{1, 0, 2}));
}

// A plan may say anything.
TEST(Concats, RefuseWhatDoesNotGoTogether) {
  const auto refused = [](const std::function<void(Problem*)>& spoil) {
    Problem p = caches();
    const auto able = [&] { return concat_parts(p, operand_dims(p.inputs), operand_dims(p.outputs)).ok(); };
    const bool good = able();
    spoil(&p);
    std::vector<Launch> launches;
    return good && !able() && !generate_at_optimum(p, &launches).ok();
  };
  EXPECT_TRUE(refused([](Problem* p) { p->as<ConcatsParams>().axis = 3; }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<ConcatsParams>().axis = 2; }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<ConcatsParams>().axis = -1; }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<ConcatsParams>().counts = {2}; }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<ConcatsParams>().counts = {3, 1}; }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<ConcatsParams>().counts = {2, 3}; }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<ConcatsParams>().counts = {4, 0}; }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<ConcatsParams>().perms.pop_back(); }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<ConcatsParams>().perms[1] = {0, 0, 2}; }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<ConcatsParams>().perms[1] = {0, 1}; }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<ConcatsParams>().perms[1] = {0, 1, 7}; }));
  EXPECT_TRUE(refused([](Problem* p) { p->inputs[2].dims[1] = p->inputs[2].max_dims[1] = 6; }));
  EXPECT_TRUE(refused([](Problem* p) { p->inputs[2].dims = p->inputs[2].max_dims = {3, 5}; }));
  EXPECT_TRUE(refused([](Problem* p) { p->outputs[1].dims = p->outputs[1].max_dims = {}; }));
  EXPECT_TRUE(refused([](Problem* p) { p->inputs.pop_back(); }));
}

}  // namespace
}  // namespace wootz::cuda
