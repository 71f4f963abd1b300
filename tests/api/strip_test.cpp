// Plans without weights: they do not run before a refit, and give the bits of whole plans after it.
#include <cstring>

#include "api/refit_net.h"
#include "base/testing.h"

namespace wootz_test {
namespace {

using Flags = std::vector<BuilderFlag>;
constexpr size_t kWeightBytes = (16 * 8 * 9 + 3 * 16 + 160) * sizeof(float);  // of a Cnn

Owned<IHostMemory> plan_of(Cnn& net) {
  return Owned<IHostMemory>(net.builder->buildSerializedNetwork(*net.network, *net.config));
}

Owned<ICudaEngine> load(Cnn& net, const IHostMemory& plan) {
  const Owned<IRuntime> runtime(createInferRuntime(net.logger));
  return Owned<ICudaEngine>(runtime->deserializeCudaEngine(plan.data(), plan.size()));
}

bool equal(const IHostMemory& a, const IHostMemory& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

bool refused(Cnn& net, bool done, const char* reason) {
  const std::string errors = net.logger.take_errors();
  EXPECT_NE(errors.find(reason), std::string::npos) << errors;
  return !done;
}

bool runs(ICudaEngine& engine) {
  const Owned<IExecutionContext> context(engine.createExecutionContext());
  Floats x(1024), y(20);
  EXPECT_TRUE(context->setInputShape("x", dims({2, 8, 8, 8})));
  EXPECT_TRUE(context->setInputTensorAddress("x", x.data()) && context->setTensorAddress("y", y.data()));
  return context->enqueueV3(nullptr);
}

TEST(Strip, RefittedItIsTheWholePlan) {
  const auto seed = static_cast<unsigned>(wootz::test_seed());
  Cnn stripped(seed, Flags{BuilderFlag::kSTRIP_PLAN, BuilderFlag::kREFIT}), whole(seed), other(seed + 1);
  const auto small = plan_of(stripped), full = plan_of(whole), others = plan_of(other);
  ASSERT_NE(small, nullptr) << stripped.logger.errors();
  EXPECT_LE(small->size() + kWeightBytes, full->size());
  const auto engine = load(stripped, *small), usual = load(whole, *full), fresh = load(other, *others);
  ASSERT_NE(engine, nullptr) << stripped.logger.errors();
  EXPECT_TRUE(engine->isRefittable());
  EXPECT_TRUE(refused(stripped, runs(*engine), "has no weights"));
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  const Owned<IRefitter> refitter(createInferRefitter(*engine, stripped.logger));
  offer_all(*refitter, stripped);
  ASSERT_TRUE(refitter->refitCudaEngine()) << stripped.logger.errors();
  EXPECT_EQ(infer(*engine), infer(*usual));
  EXPECT_EQ(infer(*context), infer(*usual)) << "in a context of before the refit";
  const Owned<IHostMemory> written(engine->serialize());
  EXPECT_TRUE(equal(*written, *full));
  // kREFIT: any others as well.
  offer_all(*refitter, other);
  ASSERT_TRUE(refitter->refitCudaEngine()) << stripped.logger.errors();
  EXPECT_EQ(infer(*context), infer(*fresh));
  EXPECT_EQ(stripped.logger.errors(), "");
}

TEST(Strip, TellsSizes) {
  Cnn stripped(1, Flags{BuilderFlag::kSTRIP_PLAN}), whole(1, Flags{});
  const auto small = stripped.engine(), full = whole.engine();
  const int64_t total = full->getEngineStat(EngineStat::kTOTAL_WEIGHTS_SIZE);
  EXPECT_GE(total, static_cast<int64_t>((16 * 8 * 9 + 160) * sizeof(float)));
  EXPECT_EQ(full->getEngineStat(EngineStat::kSTRIPPED_WEIGHTS_SIZE), -1);
  EXPECT_EQ(small->getEngineStat(EngineStat::kTOTAL_WEIGHTS_SIZE), total);
  EXPECT_EQ(small->getEngineStat(EngineStat::kSTRIPPED_WEIGHTS_SIZE), total);
  EXPECT_EQ(full->getDeviceMemorySizeV2(), small->getDeviceMemorySizeV2());
  EXPECT_EQ(small->getEngineStat(static_cast<EngineStat>(7)), -1);
  EXPECT_FALSE(stripped.logger.errors().empty());
}

TEST(Strip, TellsWhatIsMissing) {
  Cnn net(2, Flags{BuilderFlag::kSTRIP_PLAN, BuilderFlag::kREFIT});
  const auto engine = net.engine();
  ASSERT_NE(engine, nullptr) << net.logger.errors();
  const Owned<IRefitter> refitter(createInferRefitter(*engine, net.logger));
  EXPECT_EQ(refitter->getMissing(0, nullptr, nullptr), 5);
  EXPECT_EQ(refitter->getMissingWeights(0, nullptr), 1);
  EXPECT_TRUE(refitter->setWeights("conv", WeightsRole::kKERNEL, weights(net.filter)));
  EXPECT_TRUE(refitter->setNamedWeights("the matrix", weights(net.matrix)));
  EXPECT_EQ(refitter->getMissingWeights(0, nullptr), 0);
  const char* layers[5];
  WeightsRole roles[5];
  ASSERT_EQ(refitter->getMissing(5, layers, roles), 3) << "the matrix was set by its name";
  EXPECT_STREQ(layers[0], "conv");
  EXPECT_EQ(roles[0], WeightsRole::kBIAS);
  EXPECT_TRUE(refused(net, refitter->refitCudaEngine(), "kBIAS of layer 'conv'"));
  EXPECT_TRUE(refused(net, runs(*engine), "has no weights"));
  offer_all(*refitter, net);
  EXPECT_EQ(refitter->getMissing(0, nullptr, nullptr), 0);
  EXPECT_TRUE(refitter->refitCudaEngine()) << net.logger.errors();
  EXPECT_EQ(refitter->getMissing(0, nullptr, nullptr), 0);
  EXPECT_TRUE(runs(*engine));
}

TEST(Strip, AloneTakesTheSameWeightsOnly) {
  const std::vector<Flags> kinds = {{BuilderFlag::kSTRIP_PLAN},
                                    {BuilderFlag::kSTRIP_PLAN, BuilderFlag::kREFIT_IDENTICAL},
                                    {BuilderFlag::kREFIT_IDENTICAL}};
  for (const Flags& flags : kinds) {
    Cnn net(3, flags), other(4), whole(3, Flags{});
    const auto engine = net.engine(), usual = whole.engine();
    ASSERT_NE(engine, nullptr) << net.logger.errors();
    const Owned<IRefitter> refitter(createInferRefitter(*engine, net.logger));
    offer_all(*refitter, net);
    Floats changed = net.bias;
    changed[5] += 1;
    EXPECT_TRUE(refitter->setWeights("conv", WeightsRole::kBIAS, weights(changed)));
    EXPECT_TRUE(refused(net, refitter->refitCudaEngine(), "kBIAS of layer 'conv'"));
    EXPECT_TRUE(refitter->setWeights("conv", WeightsRole::kBIAS, weights(net.bias)));
    EXPECT_TRUE(refitter->refitCudaEngine()) << net.logger.errors();
    EXPECT_EQ(infer(*engine), infer(*usual));
  }
}

TEST(Strip, OfMarkedWeightsAlone) {
  Cnn net(5, Flags{BuilderFlag::kSTRIP_PLAN, BuilderFlag::kREFIT_INDIVIDUAL}), whole(5, Flags{});
  EXPECT_TRUE(net.network->setWeightsName(weights(net.filter), "the filter"));
  EXPECT_TRUE(net.network->markWeightsRefittable("the filter"));
  const auto engine = net.engine(), usual = whole.engine();
  ASSERT_NE(engine, nullptr) << net.logger.errors();
  const Owned<IRefitter> refitter(createInferRefitter(*engine, net.logger));
  EXPECT_EQ(refitter->getMissing(0, nullptr, nullptr), 1);
  EXPECT_TRUE(refused(net, runs(*engine), "has no weights"));
  EXPECT_TRUE(refitter->setNamedWeights("the filter", weights(net.filter)));
  EXPECT_TRUE(refitter->refitCudaEngine()) << net.logger.errors();
  EXPECT_EQ(infer(*engine), infer(*usual));
}

TEST(Strip, ConfigOfSerialization) {
  Cnn net(6), plain(6, Flags{}), small(6, Flags{BuilderFlag::kSTRIP_PLAN, BuilderFlag::kREFIT});
  const auto full = plan_of(net), usual = plan_of(plain), stripped = plan_of(small);
  const auto engine = load(net, *full), fixed = load(plain, *usual), empty = load(small, *stripped);
  const auto write = [](const ICudaEngine& from, SerializationFlags flags) {
    const Owned<ISerializationConfig> config(const_cast<ICudaEngine&>(from).createSerializationConfig());
    EXPECT_EQ(config->getFlags(), 0U);
    EXPECT_TRUE(config->setFlags(flags));
    return Owned<IHostMemory>(from.serializeWithConfig(*config));
  };
  const auto bit = [](SerializationFlag flag) { return 1U << static_cast<uint32_t>(flag); };
  const SerializationFlags exclude = bit(SerializationFlag::kEXCLUDE_WEIGHTS),
                           keep = bit(SerializationFlag::kINCLUDE_REFIT),
                           lean = bit(SerializationFlag::kEXCLUDE_LEAN_RUNTIME);
  EXPECT_TRUE(equal(*write(*engine, exclude | keep), *stripped));
  EXPECT_TRUE(equal(*write(*engine, exclude), *stripped)) << "or it could never run";
  EXPECT_TRUE(equal(*write(*empty, exclude), *stripped));
  EXPECT_TRUE(equal(*write(*engine, keep), *full));
  EXPECT_TRUE(equal(*write(*engine, keep | lean), *full)) << "this plan has no runtime in it";
  EXPECT_TRUE(equal(*write(*engine, 0), *usual)) << "the plan of a build without kREFIT";
  EXPECT_FALSE(load(net, *write(*engine, 0))->isRefittable());
  EXPECT_TRUE(equal(*write(*fixed, keep), *usual)) << "it never was refittable";
  EXPECT_TRUE(refused(plain, write(*fixed, exclude) != nullptr, "refittable"));
  EXPECT_TRUE(refused(small, write(*empty, 0) != nullptr, "no weights"));
  const Owned<IHostMemory> again(empty->serialize());
  EXPECT_TRUE(equal(*again, *stripped)) << "as it was loaded";
}

TEST(Strip, FlagsThatContradict) {
  Cnn net(7, Flags{BuilderFlag::kREFIT_INDIVIDUAL, BuilderFlag::kREFIT});
  EXPECT_TRUE(refused(net, plan_of(net) != nullptr, "kREFIT_INDIVIDUAL"));
}

}  // namespace
}  // namespace wootz_test
