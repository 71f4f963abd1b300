#include "tuner/layout/copy_elision.h"

#include <gtest/gtest.h>

#include "backend/index_literals.h"

namespace wootz {
namespace {

// An image whose channels are last in memory, transposed so that they are the last axis, and read.
Program transposed(Layout of_image, Layout of_rows) {
  Program p;
  p.exprs = {{ShapeOp::kConst, 2, {}}, {ShapeOp::kConst, 3, {}}, {ShapeOp::kConst, 4, {}}, {ShapeOp::kConst, 5, {}}};
  p.tensors.resize(4);
  for (PlanTensor& t : p.tensors) t.dtype = DType::kF16, t.dims = {0_expr, 1_expr, 2_expr, 3_expr};
  p.tensors[0_tensor].kind = TensorKind::kInput;
  p.tensors[1_tensor].layout = of_image;
  p.tensors[2_tensor].layout = of_rows;
  p.tensors[2_tensor].dims = {0_expr, 2_expr, 3_expr, 1_expr};
  p.tensors[3_tensor].kind = TensorKind::kOutput;
  Step make, move, read;
  make.inputs = {0_tensor}, make.outputs = {1_tensor};
  move.name = "move";
  move.problem.set_family(Family::kMove);
  move.problem.as<MoveParams>().perm = {0, 2, 3, 1};
  move.inputs = {1_tensor}, move.outputs = {2_tensor};
  read.inputs = {2_tensor}, read.outputs = {3_tensor};
  p.steps = {make, move, read};
  return p;
}

TEST(CopyElision, ATranspositionThatMovesNothingIsAView) {
  for (const bool parts : {false, true}) {
    Program p = transposed(Layout::kChannelsLast, Layout::kLinear);
    const Result<ElidedCopies> gone = elide_copies(&p, {}, Limits(), parts);
    ASSERT_TRUE(gone.ok());
    EXPECT_EQ(gone->steps, std::vector<std::string>{"move"});
    ASSERT_EQ(p.steps.size(), 2u);
    EXPECT_EQ(p.steps[1_step].inputs, std::vector<TensorIndex>{2_tensor});
    EXPECT_EQ(p.tensors[2_tensor].kind, TensorKind::kView);
    EXPECT_EQ(p.tensors[2_tensor].view_of, 1_tensor);
    EXPECT_FALSE(p.tensors[2_tensor].offset.exists());
  }
}

TEST(CopyElision, OthersStay) {
  for (const auto& [of_image, of_rows] :
       {std::pair(Layout::kLinear, Layout::kLinear), std::pair(Layout::kChannelsLast, Layout::kChannelsLast),
        std::pair(Layout::kLinear, Layout::kChannelsLast)}) {
    Program p = transposed(of_image, of_rows);
    ASSERT_TRUE(elide_copies(&p, {}, Limits(), true).ok());
    EXPECT_EQ(p.steps.size(), 3u);
  }
  Program output = transposed(Layout::kChannelsLast, Layout::kLinear);
  output.tensors[2_tensor].kind = TensorKind::kOutput;
  ASSERT_TRUE(elide_copies(&output, {}, Limits(), true).ok());
  EXPECT_EQ(output.steps.size(), 3u);
}

}  // namespace
}  // namespace wootz
