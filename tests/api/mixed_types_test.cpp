// Operands of several types of float: in a network whose types are for the build to choose they meet in f32.
#include "api/layer_check.h"

namespace wootz_test {
namespace {

// 1 and 0.5 by turns, in f16.
const std::vector<uint16_t>& halves() {
  static const std::vector<uint16_t> values{0x3c00, 0x3800, 0x3c00, 0x3800};
  return values;
}

ITensor* half(Bench& b, std::initializer_list<int64_t> shape) {
  return b.network->addConstant(dims(shape), {DataType::kHALF, halves().data(), 4})->getOutput(0);
}

TEST(MixedTypes, OperandsMeetInF32) {
  const In x{{2, 2}, {1, 2, 3, 4}};
  struct Row {
    const char* what;
    std::vector<int64_t> shape;
    Floats want;
    std::function<ILayer*(INetworkDefinition&, ITensor& x, ITensor& half)> make;
  };
  const Row rows[] = {
      {"a product",
       {2, 2},
       {3, 1.5F, 7, 3.5F},
       [](auto& n, auto& a, auto& h) {
         return n.addMatrixMultiply(a, MatrixOperation::kNONE, h, MatrixOperation::kNONE);
       }},
      {"a sum",
       {2, 2},
       {2, 2.5F, 4, 4.5F},
       [](auto& n, auto& a, auto& h) { return n.addElementWise(h, a, ElementWiseOperation::kSUM); }},
      {"an Einstein sum",
       {2},
       {2, 5},
       [](auto& n, auto& a, auto& h) {
         ITensor* operands[] = {&a, &h};
         return n.addEinsum(operands, 2, "ij,ij->i");
       }},
      {"a concatenation",
       {4, 2},
       {1, 2, 3, 4, 1, 0.5F, 1, 0.5F},
       [](auto& n, auto& a, auto& h) {
         ITensor* parts[] = {&a, &h};
         auto* layer = n.addConcatenation(parts, 2);
         layer->setAxis(0);
         return layer;
       }},
      {"a slope", {2, 2}, {1, 2, 3, 4}, [](auto& n, auto& a, auto& h) { return n.addParametricReLU(a, h); }},
      {"a choice",
       {2, 2},
       {1, 0.5F, 1, 4},
       [](auto& n, auto& a, auto& h) {
         static const float three = 3.5F;
         ITensor* bound = n.addConstant(dims({1, 1}), {DataType::kFLOAT, &three, 1})->getOutput(0);
         ITensor* large = n.addElementWise(a, *bound, ElementWiseOperation::kGREATER)->getOutput(0);
         return n.addSelect(*large, a, h);
       }},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    check_layer({x}, row.shape, row.want, [&](Bench& b, auto& in) -> ILayer* {
      return row.make(*b.network, *in[0], *half(b, {2, 2}));
    });
  }
}

TEST(MixedTypes, LayersMayChangeTheTypeOnTheWay) {
  check_layer({{{2, 2}, {1, 2, 3, 4}}}, {2, 2}, {3, 3, 7, 7}, [](Bench& b, auto& in) -> ILayer* {
    ILayer* relu = b.network->addActivation(*in[0], ActivationType::kRELU);
    relu->setOutputType(0, DataType::kHALF);
    static const Floats ones(4, 1);
    return b.network->addMatrixMultiply(*relu->getOutput(0), MatrixOperation::kNONE, *b.constant<float>({2, 2}, ones),
                                        MatrixOperation::kNONE);
  });
}

TEST(MixedTypes, AStronglyTypedNetworkRefusesThem) {
  Bench b(1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED));
  b.output(b.network->addElementWise(*b.input("x", {2, 2}), *half(b, {2, 2}), ElementWiseOperation::kSUM), "y");
  EXPECT_EQ(b.engine(), nullptr);
  EXPECT_NE(b.logger.errors().find("they must be of one type"), std::string::npos) << b.logger.errors();
}

// Of addNormalization(): scales by group, and by channel.
TEST(GroupNormalization, ScalesOfGroupsAreThoseOfTheirChannels) {
  const In x{{1, 4, 2}, {1, 3, 5, 7, 0, 2, 0, 2}};
  const float a = 3 / std::sqrt(5.0F), c = 1 / std::sqrt(5.0F);
  check_layer({x}, {1, 4, 2}, {-2 * a + 1, -2 * c + 1, 2 * c + 1, 2 * a + 1, -2.5F, 3.5F, -2.5F, 3.5F},
              [](Bench& b, auto& in) -> ILayer* {
                static const Floats scale{2, 3}, bias{1, 0.5F};
                auto* layer = b.network->addNormalization(*in[0], *b.constant<float>({1, 2, 1}, scale),
                                                          *b.constant<float>({1, 2, 1}, bias), 1U << 2);
                layer->setNbGroups(2);
                layer->setEpsilon(0);
                return layer;
              });
}

}  // namespace
}  // namespace wootz_test
