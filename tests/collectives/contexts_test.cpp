// What engines with layers that span devices ask of their contexts, and what is refused.
#include <gmock/gmock.h>

#include "collectives/ranks.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;
using testing::AllOf;
using testing::HasSubstr;

using Floats = std::vector<float>;

constexpr auto kAllReduce = CollectiveOperation::kALL_REDUCE;
constexpr auto kAllGather = CollectiveOperation::kALL_GATHER;
constexpr auto kBroadcast = CollectiveOperation::kBROADCAST;
constexpr auto kReduce = CollectiveOperation::kREDUCE;
constexpr auto kReduceScatter = CollectiveOperation::kREDUCE_SCATTER;
constexpr auto kSum = ReduceOperation::kSUM;
constexpr auto kNoReduction = ReduceOperation::kNONE;

// y: the sum of x over the ranks.
Plan sum_plan(int32_t ranks) {
  CudaBench b;
  ILayer* layer = b.collective(b.input("x", {4}), kAllReduce, kSum, ranks);
  layer->setName("the_sum");
  b.output(layer, "y");
  return b.plan();
}

TEST(Communicators, AreWhatAnEngineRunsWith) {
  const Plan plan = sum_plan(2);
  ASSERT_NE(plan, nullptr);
  Rank rank(*plan, 0);
  ASSERT_NE(rank.engine, nullptr);
  rank.inference->give("x", dims({4}), Floats{1, 2, 3, 4});
  const auto refused_run = [&] {
    EXPECT_FALSE(rank.inference->run());
    EXPECT_THAT(rank.logger.take_errors(), AllOf(HasSubstr("the_sum"), HasSubstr("all_reduce of 2 ranks"),
                                                 HasSubstr("IExecutionContext::setCommunicator")));
  };
  refused_run();
  const Communicators three(3), other_gpus(2, {1, 0});
  EXPECT_FALSE(rank.context().setCommunicator(three[0]));
  EXPECT_THAT(rank.logger.take_errors(),
              AllOf(HasSubstr("the_sum"), HasSubstr("has 3 ranks"), HasSubstr("built for 2")));
  EXPECT_FALSE(rank.context().setCommunicator(other_gpus[0]));
  EXPECT_THAT(rank.logger.take_errors(), AllOf(HasSubstr("of GPU 1"), HasSubstr("of GPU 0")));
  refused_run();
  EXPECT_TRUE(rank.context().setCommunicator(other_gpus[1]));
  EXPECT_TRUE(rank.context().setCommunicator(nullptr)) << rank.logger.errors();
  refused_run();
}

TEST(Communicators, MayBeReplacedByOthers) {
  const Plan plan = sum_plan(2);
  ASSERT_NE(plan, nullptr);
  Rank first(*plan, 0), second(*plan, 1);
  Rank* const ranks[] = {&first, &second};
  for (int round = 0; round < 3; ++round) {
    const Communicators world(2);
    as_ranks(2, [&](size_t r) {
      Rank& rank = *ranks[r];
      const float mine = static_cast<float>(round + 1) * (r == 0 ? 1 : 10);
      ASSERT_TRUE(rank.context().setCommunicator(world[r])) << rank.logger.errors();
      rank.inference->give("x", dims({4}), Floats(4, mine));
      ASSERT_TRUE(rank.inference->run()) << rank.logger.errors();
      EXPECT_EQ(rank.inference->get<float>("y"), Floats(4, 11.F * static_cast<float>(round + 1)));
      ASSERT_TRUE(rank.context().setCommunicator(nullptr));
    });
  }
}

TEST(Communicators, HaveNothingToDoWithoutSuchLayers) {
  CudaBench b;
  b.output(b.collective(b.input("x", {4}), kAllReduce, kSum, 1), "y");  // one rank alone
  const Plan plan = b.plan();
  ASSERT_NE(plan, nullptr);
  Rank rank(*plan, 0);
  const Communicators world(1);
  EXPECT_FALSE(rank.context().setCommunicator(world[0]));
  EXPECT_THAT(rank.logger.take_errors(), HasSubstr("no layer of the engine spans devices"));
  EXPECT_TRUE(rank.context().setCommunicator(nullptr));
  rank.inference->give("x", dims({4}), Floats{1, 2, 3, 4});
  ASSERT_TRUE(rank.inference->run()) << rank.logger.errors();
  EXPECT_EQ(rank.inference->get<float>("y"), (Floats{1, 2, 3, 4}));
}

TEST(Communicators, TellWhatRanksDoNotAgreeAbout) {
  const Communicators world(2);
  as_ranks(2, [&](size_t r) {
    CudaBench b;
    b.output(b.collective(b.input("x", {4}), kAllReduce, r == 0 ? kSum : ReduceOperation::kMAX, 2), "y");
    const Plan plan = b.plan();
    ASSERT_NE(plan, nullptr);
    Rank rank(*plan, static_cast<int>(r));
    ASSERT_TRUE(rank.context().setCommunicator(world[r])) << rank.logger.errors();
    rank.inference->give("x", dims({4}), Floats(4, 1));
    EXPECT_FALSE(rank.inference->run());
    EXPECT_THAT(rank.logger.take_errors(), AllOf(HasSubstr("NCCL: all_reduce"), HasSubstr("the ranks do not agree")));
  });
}

// Two halves of the ranks at the same time, each in an order of its own, and twice the same group in one network.
TEST(Groups, TakePartInTheirOrder) {
  const Communicators world(4);
  as_ranks(4, [&](size_t r) {
    const std::vector<int64_t> group = r < 2 ? std::vector<int64_t>{1, 0} : std::vector<int64_t>{2, 3};
    CudaBench b;
    ITensor* x = b.input("x", {2});
    b.output(b.collective(x, kAllGather, kNoReduction, 4, -1, group), "all");
    b.output(b.collective(x, kBroadcast, kNoReduction, 4, group[0], group), "first");
    b.output(b.collective(x, kReduce, kSum, 4, group[1], group), "sum");
    b.output(b.collective(x, kAllReduce, kSum, 4), "everyone");
    const Plan plan = b.plan();
    ASSERT_NE(plan, nullptr);
    Rank rank(*plan, static_cast<int>(r));
    ASSERT_TRUE(rank.context().setCommunicator(world[r])) << rank.logger.errors();
    const auto mine = [](int64_t of) { return Floats{static_cast<float>(of), static_cast<float>(of + 10)}; };
    rank.inference->give("x", dims({2}), mine(static_cast<int64_t>(r)));
    ASSERT_TRUE(rank.inference->run()) << rank.logger.errors();
    Floats all = mine(group[0]);
    for (const float v : mine(group[1])) all.push_back(v);
    EXPECT_EQ(rank.inference->get<float>("all"), all);
    EXPECT_EQ(rank.inference->get<float>("first"), mine(group[0]));
    const Floats sum{all[0] + all[2], all[1] + all[3]};
    EXPECT_EQ(rank.inference->get<float>("sum"), static_cast<int64_t>(r) == group[1] ? sum : Floats(2, 0));
    EXPECT_EQ(rank.inference->get<float>("everyone"), (Floats{6, 46}));
  });
}

TEST(Groups, WithoutARankRefuseIt) {
  CudaBench b;
  ILayer* layer = b.collective(b.input("x", {2}), kAllReduce, kSum, 3, -1, {2, 0});
  layer->setName("the_pair");
  b.output(layer, "y");
  const Plan plan = b.plan();
  ASSERT_NE(plan, nullptr);
  const Communicators world(3);
  as_ranks(3, [&](size_t r) {
    Rank rank(*plan, static_cast<int>(r));
    ASSERT_TRUE(rank.context().setCommunicator(world[r])) << rank.logger.errors();
    rank.inference->give("x", dims({2}), Floats(2, static_cast<float>(r + 1)));
    if (r == 1) {
      EXPECT_FALSE(rank.inference->run());
      EXPECT_THAT(rank.logger.take_errors(),
                  AllOf(HasSubstr("the_pair"), HasSubstr("none of those that take part (2, 0)")));
      return;
    }
    ASSERT_TRUE(rank.inference->run()) << rank.logger.errors();
    EXPECT_EQ(rank.inference->get<float>("y"), Floats(2, 4));
  });
}

TEST(Shapes, ThatCannotBeSharedAreRefusedWhenTheyAreSet) {
  CudaBench b;
  ILayer* layer = b.collective(b.input("x", {-1, 2}), kReduceScatter, kSum, 2);
  layer->setName("the_parts");
  b.output(layer, "y");
  b.profile("x", {1, 2}, {4, 2}, {8, 2});
  const Plan plan = b.plan();
  ASSERT_NE(plan, nullptr);
  const Communicators world(2);
  as_ranks(2, [&](size_t r) {
    Rank rank(*plan, static_cast<int>(r));
    ASSERT_TRUE(rank.context().setCommunicator(world[r])) << rank.logger.errors();
    for (const int64_t rows : {4, 3, 8, 2, 4}) {
      Floats x(static_cast<size_t>(rows) * 2);
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) * (r == 0 ? 1 : 100);
      EXPECT_TRUE(rank.context().setInputShape("x", dims({rows, 2})));
      if (rows == 3) {
        const bool resolved = rank.context().inferShapes(0, nullptr) == 0;
        EXPECT_FALSE(resolved && rank.inference->give("x", dims({rows, 2}), x).run());
        EXPECT_THAT(rank.logger.take_errors(), AllOf(HasSubstr("the_parts"), HasSubstr("[3x2]"), HasSubstr("2 ranks")));
        continue;
      }
      rank.inference->give("x", dims({rows, 2}), x);
      ASSERT_TRUE(rank.inference->run()) << rank.logger.errors();
      Floats want;
      for (size_t i = x.size() / 2 * r; i < x.size() / 2 * (r + 1); ++i) want.push_back(static_cast<float>(i) * 101);
      EXPECT_EQ(rank.inference->get<float>("y"), want) << rows;
    }
  });
}

// Steps before and after it, the same one twice, and results that none reads: all ranks run all of them.
TEST(Networks, RunThemAmongOtherLayers) {
  CudaBench b;
  ITensor* x = b.input("x", {4, 4});
  const auto sum = [&](ITensor* t) { return b.collective(t, kAllReduce, kSum, 2)->getOutput(0); };
  ITensor* square = b.network->addElementWise(*x, *x, ElementWiseOperation::kPROD)->getOutput(0);
  ITensor* twice = b.network->addElementWise(*sum(square), *sum(square), ElementWiseOperation::kSUM)->getOutput(0);
  ITensor* all = b.collective(twice, kAllGather, kNoReduction, 2)->getOutput(0);
  b.output(b.network->addUnary(*all, UnaryOperation::kNEG), "y");
  const Plan plan = b.plan();
  ASSERT_NE(plan, nullptr);
  const Communicators world(2);
  as_ranks(2, [&](size_t r) {
    Rank rank(*plan, static_cast<int>(r));
    ASSERT_TRUE(rank.context().setCommunicator(world[r])) << rank.logger.errors();
    for (int round = 0; round < 4; ++round) {
      const Floats mine(16, static_cast<float>(round + 1) * (r == 0 ? 1.F : 2.F));
      rank.inference->give("x", dims({4, 4}), mine);
      ASSERT_TRUE(rank.inference->run()) << rank.logger.errors();
      const float want = -2 * 5 * static_cast<float>((round + 1) * (round + 1));
      EXPECT_EQ(rank.inference->get<float>("y"), Floats(32, want)) << round;
    }
  });
}

TEST(Networks, OfAProcessorHaveOneRank) {
  CudaBench alone("cpu");
  ITensor* x = alone.input("x", {4});
  alone.output(alone.collective(x, kReduce, ReduceOperation::kAVG, 1, 0), "y");
  alone.output(alone.collective(x, kAllGather, kNoReduction, 4, -1, {3}), "z");
  const Owned<ICudaEngine> engine = alone.engine();
  ASSERT_NE(engine, nullptr) << alone.logger.errors();
  Inference inference(*engine);
  ASSERT_TRUE(inference.give("x", dims({4}), Floats{1, 2, 3, 4}).run());
  EXPECT_EQ(inference.get<float>("y"), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(inference.get<float>("z"), (Floats{1, 2, 3, 4}));
  for (const char* backend : {"cpu", "reference"}) {
    CudaBench b(backend);
    ILayer* layer = b.collective(b.input("x", {4}), kAllReduce, kSum, 2);
    layer->setName("the_sum");
    b.output(layer, "y");
    EXPECT_EQ(b.engine(), nullptr) << backend;
    EXPECT_THAT(b.logger.take_errors(), AllOf(HasSubstr("the_sum"), HasSubstr("all_reduce of 2 ranks"),
                                              HasSubstr("run on GPUs (backend cuda)")))
        << backend;
  }
}

TEST(Networks, RefuseThemInBodies) {
  CudaBench b;
  ITensor* x = b.input("x", {4});
  ILoop* loop = b.network->addLoop();
  const std::vector<int32_t> many{100'000};  // too many to be written out one after another
  loop->addTripLimit(*b.constant<int32_t>({}, many), TripLimit::kCOUNT);
  IRecurrenceLayer* state = loop->addRecurrence(*x);
  ILayer* layer = b.collective(state->getOutput(0), kAllReduce, kSum, 2);
  state->setInput(1, *layer->getOutput(0));
  b.output(loop->addLoopOutput(*state->getOutput(0), LoopOutput::kLAST_VALUE, 0), "y");
  EXPECT_EQ(b.engine(), nullptr);
  EXPECT_THAT(b.logger.take_errors(), HasSubstr("cannot be in the body of a loop or conditional"));
}

TEST(Layers, RefuseSettingsThatMakeNoSense) {
  CudaBench b;
  ITensor* x = b.input("x", {5, 2});
  std::vector<int64_t> twice{1, 1}, pair{0, 1};
  const auto refused = [&](CollectiveOperation operation, ReduceOperation reduction, int64_t root, int64_t* groups,
                           int64_t count, const char* why) {
    EXPECT_EQ(b.network->addDistCollective(*x, operation, reduction, root, groups, count), nullptr) << why;
    EXPECT_THAT(b.logger.take_errors(), AllOf(HasSubstr("INetworkDefinition::addDistCollective"), HasSubstr(why)));
  };
  refused(kAllReduce, kNoReduction, -1, nullptr, 0, "all_reduce needs a reduction");
  refused(kAllGather, kSum, -1, nullptr, 0, "all_gather reduces nothing");
  refused(kBroadcast, kNoReduction, -1, nullptr, 0, "broadcast needs a root");
  refused(kAllReduce, kSum, -1, nullptr, 2, "2 ranks in groups, which are null");
  refused(kAllReduce, kSum, -1, twice.data(), 2, "rank 1 is in the groups twice");
  refused(kReduce, kSum, 2, pair.data(), 2, "rank 2, is not in the groups");
  refused(static_cast<CollectiveOperation>(NV_TENSORRT_MAJOR >= 11 ? 8 : 5), kNoReduction, 0, nullptr, 0,
          "is not one of");
  refused(kAllReduce, static_cast<ReduceOperation>(6), -1, nullptr, 0, "reduction 6");

  ILayer* layer = b.network->addDistCollective(*x, kReduceScatter, kSum, -1, nullptr, 0);
  ASSERT_NE(layer, nullptr) << b.logger.errors();
  EXPECT_EQ(layer->getNbRanks(), 1);
  EXPECT_FALSE(layer->setNbRanks(0));
  EXPECT_TRUE(layer->setNbRanks(2));
  EXPECT_FALSE(layer->setNbRanks(4)) << "once above 1 it stays";
  EXPECT_TRUE(layer->setNbRanks(2));
  EXPECT_EQ(layer->getNbRanks(), 2);
  b.logger.take_errors();
  layer->setName("the_parts");
  b.output(layer, "y");
  EXPECT_EQ(b.engine(), nullptr);
  EXPECT_THAT(b.logger.take_errors(), AllOf(HasSubstr("the_parts"), HasSubstr("[5,2]"), HasSubstr("the 2 ranks")));
}

TEST(Layers, TypesThatNobodyReducesAreRefused) {
  CudaBench b;
  ILayer* layer = b.collective(b.input("x", {4}, DataType::kBOOL), kAllReduce, ReduceOperation::kMAX, 2);
  layer->setName("the_flags");
  b.output(layer, "y");
  EXPECT_EQ(b.engine(), nullptr);
  EXPECT_THAT(b.logger.take_errors(), AllOf(HasSubstr("the_flags"), HasSubstr("all_reduce of bool")));
}

TEST(Libraries, NameNccl) {
  const char* const text = wootz_backend_libraries("cuda");
  ASSERT_NE(text, nullptr);
  EXPECT_THAT(text, AllOf(HasSubstr("\"NCCL\""), HasSubstr("2.19.5")));
}

// Which addresses other ranks see anew is not known here, so that nothing is recorded: an application's capture
// neither.
TEST(Capture, IsRefusedByName) {
  const Plan plan = sum_plan(2);
  ASSERT_NE(plan, nullptr);
  const Communicators world(2);
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  ASSERT_NE(driver, nullptr);
  using Begin = int (*)(void*, int);
  using End = int (*)(void*, void**);
  const auto begin = reinterpret_cast<Begin>(dlsym(driver, "cuStreamBeginCapture_v2"));
  const auto end = reinterpret_cast<End>(dlsym(driver, "cuStreamEndCapture"));
  as_ranks(2, [&](size_t r) {
    Rank rank(*plan, static_cast<int>(r));
    ASSERT_TRUE(rank.context().setCommunicator(world[r])) << rank.logger.errors();
    rank.inference->give("x", dims({4}), Floats(4, 1));
    ASSERT_TRUE(rank.inference->run()) << rank.logger.errors();
    void* const stream = wootz_device_stream_create(rank.engine.get());
    ASSERT_EQ(begin(stream, 1), 0);
    EXPECT_FALSE(rank.context().enqueueV3(static_cast<cudaStream_t>(stream)));
    EXPECT_THAT(rank.logger.take_errors(), AllOf(HasSubstr("the_sum"), HasSubstr("captured stream")));
    void* graph = nullptr;
    end(stream, &graph);
    wootz_device_stream_destroy(rank.engine.get(), stream);
  });
}

}  // namespace
}  // namespace wootz_test
