// Every operation on every type with every reduction, against what follows from its definition.
#include <algorithm>
#include <bit>
#include <random>

#include "base/testing.h"
#include "collectives/ranks.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;
constexpr int64_t kRows = 8, kColumns = 3, kRoot = 2;
constexpr size_t kRanks = 4, kCount = kRows * kColumns;

// Numbers that every type holds exactly, also their products and their averages by four.
struct Type {
  DataType type;
  const char* name;
  size_t bytes;
  bool reduced;
};
constexpr Type kTypes[] = {{DataType::kFLOAT, "f32", 4, true}, {DataType::kHALF, "f16", 2, true},
                           {DataType::kBF16, "bf16", 2, true}, {DataType::kINT32, "i32", 4, true},
                           {DataType::kINT64, "i64", 8, true}, {DataType::kINT8, "i8", 1, true},
                           {DataType::kBOOL, "bool", 1, false}};

// Of a number that is a normal half, or zero.
uint16_t half(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000U;
  return static_cast<uint16_t>(value == 0 ? sign : sign | (((bits >> 23 & 0xffU) - 112) << 10 | (bits >> 13 & 0x3ffU)));
}
void write(DataType type, double value, std::byte* to) {
  const auto store = [&](auto v) { std::memcpy(to, &v, sizeof v); };
  switch (type) {
    case DataType::kFLOAT: return store(static_cast<float>(value));
    case DataType::kHALF: return store(half(static_cast<float>(value)));
    case DataType::kBF16: return store(static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16));
    case DataType::kINT32: return store(static_cast<int32_t>(value));
    case DataType::kINT64: return store(static_cast<int64_t>(value));
    default: return store(static_cast<int8_t>(value));
  }
}
std::vector<std::byte> encoded(const Type& type, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * type.bytes);
  for (size_t i = 0; i < values.size(); ++i) write(type.type, values[i], bytes.data() + i * type.bytes);
  return bytes;
}

using Values = std::vector<double>;

struct Case {
  CollectiveOperation operation;
  ReduceOperation reduction;
  std::string name;
};
const char* const kReductions[] = {"sum", "prod", "max", "min", "avg"};

std::vector<Case> cases(const Type& type) {
  std::vector<Case> all;
  const auto add = [&](CollectiveOperation operation, const char* name, bool reduces) {
    if (!reduces) return all.push_back({operation, ReduceOperation::kNONE, name});
    for (int r = 0; r < 5 && type.reduced; ++r)
      all.push_back({operation, static_cast<ReduceOperation>(r), std::string(name) + "_" + kReductions[r]});
  };
  add(CollectiveOperation::kALL_REDUCE, "all_reduce", true);
  add(CollectiveOperation::kALL_GATHER, "all_gather", false);
  add(CollectiveOperation::kBROADCAST, "broadcast", false);
  add(CollectiveOperation::kREDUCE, "reduce", true);
  add(CollectiveOperation::kREDUCE_SCATTER, "reduce_scatter", true);
#if NV_TENSORRT_MAJOR >= 11
  add(CollectiveOperation::kALL_TO_ALL, "all_to_all", false);
  add(CollectiveOperation::kGATHER, "gather", false);
  add(CollectiveOperation::kSCATTER, "scatter", false);
#endif
  return all;
}

Values reduced(const std::vector<Values>& x, ReduceOperation op) {
  Values y(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    y[i] = x[0][i];
    for (size_t r = 1; r < kRanks; ++r)
      y[i] = op == ReduceOperation::kPROD  ? y[i] * x[r][i]
             : op == ReduceOperation::kMAX ? std::max(y[i], x[r][i])
             : op == ReduceOperation::kMIN ? std::min(y[i], x[r][i])
                                           : y[i] + x[r][i];
    if (op == ReduceOperation::kAVG) y[i] /= kRanks;
  }
  return y;
}
Values part(const Values& all, size_t which) {
  const size_t size = all.size() / kRanks;
  return {all.begin() + static_cast<ptrdiff_t>(which * size), all.begin() + static_cast<ptrdiff_t>((which + 1) * size)};
}
Values joined(const std::vector<Values>& parts) {
  Values all;
  for (const Values& p : parts) all.insert(all.end(), p.begin(), p.end());
  return all;
}

// What rank `me` gets, by the headers' words.
Values wanted(const Case& c, const std::vector<Values>& x, size_t me) {
  switch (static_cast<int>(c.operation)) {
    case 0: return reduced(x, c.reduction);
    case 1: return joined(x);
    case 2: return x[kRoot];
    case 3: return me == kRoot ? reduced(x, c.reduction) : Values(kCount, 0);
    case 4: return part(reduced(x, c.reduction), me);
    case 5: {
      std::vector<Values> blocks;
      for (const Values& of : x) blocks.push_back(part(of, me));
      return joined(blocks);
    }
    case 6: return me == kRoot ? joined(x) : Values(kCount * kRanks, 0);
    default: return part(x[kRoot], me);
  }
}

class Operations : public testing::TestWithParam<Type> {};

TEST_P(Operations, GiveWhatTheyAreDefinedAs) {
  const Type& type = GetParam();
  std::mt19937_64 rng(wootz::test_seed());
  CudaBench b;
  ITensor* x = b.input("x", {kRows, kColumns}, type.type);
  const std::vector<Case> all = cases(type);
  for (const Case& c : all) {
    const bool rooted = c.operation == CollectiveOperation::kBROADCAST || c.operation == CollectiveOperation::kREDUCE ||
                        static_cast<int>(c.operation) > 5;
    ILayer* layer = b.collective(x, c.operation, c.reduction, kRanks, rooted ? kRoot : -1);
    ASSERT_NE(layer, nullptr);
    EXPECT_EQ(layer->getType(), LayerType::kDIST_COLLECTIVE);
    EXPECT_EQ(layer->getNbRanks(), static_cast<int32_t>(kRanks));
    EXPECT_EQ(layer->getOutput(0)->getType(), type.type);
    b.output(layer, c.name.c_str());
  }
  const Plan plan = b.plan();
  ASSERT_NE(plan, nullptr);
  const Communicators world(kRanks);
  for (int round = 0; round < 2; ++round) {
    // Of products -1 or 1, once 2; otherwise multiples of four.
    std::vector<Values> given(kRanks, Values(kCount)), signs(kRanks, Values(kCount));
    for (Values& values : given)
      for (double& v : values)
        v = type.reduced ? 4 * (static_cast<double>(rng() % 5) - 2) : static_cast<double>(rng() % 2);
    for (size_t r = 0; r < kRanks; ++r)
      for (double& v : signs[r]) v = (rng() % 2 == 0 ? 1 : -1) * (r == 1 ? 2 : 1);
    for (const bool products : {false, true}) {
      if (products && !type.reduced) continue;
      const std::vector<Values>& input = products ? signs : given;
      as_ranks(kRanks, [&](size_t r) {
        Rank rank(*plan, static_cast<int>(r));
        ASSERT_NE(rank.engine, nullptr);
        ASSERT_TRUE(rank.context().setCommunicator(world[r])) << rank.logger.errors();
        rank.inference->give("x", dims({kRows, kColumns}), encoded(type, input[r]));
        // Twice: what is kept of the first run serves the second one.
        for (int run = 0; run < 2; ++run) ASSERT_TRUE(rank.inference->run()) << rank.logger.errors();
        for (const Case& c : all) {
          const bool multiplies = c.reduction == ReduceOperation::kPROD;
          if (type.reduced && multiplies != products && c.reduction != ReduceOperation::kNONE) continue;
          const std::vector<std::byte> want = encoded(type, wanted(c, input, r));
          const Dims shape = rank.context().getTensorShape(c.name.c_str());
          ASSERT_EQ(volume(shape) * type.bytes, want.size()) << c.name;
          EXPECT_EQ(rank.inference->bytes(c.name.c_str(), want.size()), want)
              << c.name << " of " << type.name << " on rank " << r;
        }
      });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Operations, testing::ValuesIn(kTypes),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace wootz_test
