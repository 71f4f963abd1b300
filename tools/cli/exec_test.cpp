// `wootz exec` with each of its flags: on the processor, and on the emulator (or on a GPU).
// Why so long: one list of flags, and runs that share a folder and a way to read what is printed.
#include "cli/exec.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "NvInfer.h"
#include "backends/cuda/device/gpu.h"
#include "backends/cuda/emulator/emulator.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/exec_flags.h"
#include "onnx/model_for_test.h"

namespace wootz_cli {
namespace {

using nvinfer1::BuilderFlag;
using nvinfer1::MemoryPoolType;
using ::testing::HasSubstr;
using ::testing::Not;

struct Arguments {
  explicit Arguments(const std::vector<std::string>& flags) : text{"trtexec"} {
    text.insert(text.end(), flags.begin(), flags.end());
    for (std::string& t : text) pointers.push_back(t.data());
    pointers.push_back(nullptr);
  }
  int count() const { return static_cast<int>(text.size()); }
  std::vector<std::string> text;
  std::vector<char*> pointers;
};

Exec parse(std::vector<std::string> flags) {
  flags.insert(flags.begin(), "--onnx=m.onnx");
  Arguments arguments(flags);
  return *parse_exec(arguments.count(), arguments.pointers.data());
}

// A folder with a model, y = softmax(relu(x) + 1) of [4, 96], that goes again.
class Folder {
 public:
  Folder() {
    using namespace wootz::importer;
    std::string pattern = ::testing::TempDir() + "wootz_exec_XXXXXX";
    path_ = mkdtemp(pattern.data());
    ModelProto model = model_for_test();
    GraphProto* graph = model.mutable_graph();
    add_input(graph, "x", {"4", "96"});
    *graph->add_initializer() = raw_tensor<float>("one", TensorProto::FLOAT, {1}, {1});
    add_node(graph, "Relu", {"x"}, {"r"});
    add_node(graph, "Add", {"r", "one"}, {"s"});
    add_node(graph, "Softmax", {"s"}, {"y"});
    add_output(graph, "y");
    std::ofstream(at("m.onnx"), std::ios::binary) << model.SerializeAsString();
  }
  ~Folder() {
    if (std::system(("rm -r " + path_).c_str()) != 0) std::abort();
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string at(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

struct Ran {
  int status = -1;
  std::string out, error;
  double number(const std::string& before) const {
    std::smatch found;
    const bool is_there = std::regex_search(out, found, std::regex(before + "([0-9.e+-]+)"));
    EXPECT_TRUE(is_there) << before << " in " << out;
    return is_there ? std::atof(found[1].str().c_str()) : -1;
  }
};

Ran exec(const std::vector<std::string>& flags) {
  Arguments arguments(flags);
  Logger logger;
  Ran ran;
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  ran.status = run_exec(arguments.count(), arguments.pointers.data(), logger);
  ran.out = ::testing::internal::GetCapturedStdout();
  ran.error = ::testing::internal::GetCapturedStderr();
  return ran;
}

TEST(ExecFlags, SizesHaveUnits) {
  constexpr size_t kMiB = size_t{1} << 20;
  for (const auto& [text, bytes] : std::initializer_list<std::pair<const char*, size_t>>{{"64", 64 * kMiB},
                                                                                         {"0.25", kMiB / 4},
                                                                                         {"1000B", 1000},
                                                                                         {"48K", 48 * 1024},
                                                                                         {"0.5M", kMiB / 2},
                                                                                         {"1024MiB", 1024 * kMiB},
                                                                                         {"4G", 4096 * kMiB},
                                                                                         {"1.5GiB", 1536 * kMiB}})
    EXPECT_EQ(parse_size(text, "--memPoolSize"), bytes) << text;
  for (const char* text : {"", "G", "4T", "4 G", "-1", "1.2.3", "0x10", "1e3", "nan", "99999999999999999999G", "4Gx"})
    EXPECT_THROW(parse_size(text, "--memPoolSize"), Usage) << text;
  EXPECT_EQ(parse({"--memPoolSize=workspace:4G"}).build.pools.at(MemoryPoolType::kWORKSPACE), 4096 * kMiB);
  EXPECT_EQ(parse({"--workspace=64"}).build.pools.at(MemoryPoolType::kWORKSPACE), 64 * kMiB);
  EXPECT_THROW(parse({"--memPoolSize=heap:1"}), Usage);
  EXPECT_THROW(parse({"--memPoolSize=workspace"}), Usage);
  EXPECT_EQ(parse({"--memPoolSize=workspace:4G,dlaSRAM:1"}).build.pools.at(MemoryPoolType::kDLA_MANAGED_SRAM), kMiB);
}

TEST(ExecFlags, BecomeSettingsOfTheBuildAndTheRun) {
  EXPECT_TRUE(parse({}).build.cleared_flags.empty());
  EXPECT_THAT(parse({"--noTF32"}).build.cleared_flags, ::testing::ElementsAre(BuilderFlag::kTF32));
  EXPECT_TRUE(parse({"--stronglyTyped"}).build.strongly_typed);
  const Exec both = parse({"--stronglyTyped", "--fp16"});
  EXPECT_TRUE(both.build.flags.empty());
  EXPECT_THAT(both.warnings, ::testing::ElementsAre(HasSubstr("--fp16")));
  EXPECT_EQ(parse({"--best"}).build.flags.size(), 3U);
  EXPECT_TRUE(parse({"--buildOnly"}).skip_inference);
  EXPECT_TRUE(parse({"--skipInference"}).skip_inference);
  EXPECT_TRUE(parse({"--includeDataTransfers"}).timing.transfers);
  EXPECT_FALSE(parse({"--noDataTransfers"}).timing.transfers);
  EXPECT_FALSE(parse({"--exposeDMA"}).timing.overlap);
  EXPECT_EQ(parse({"--avgTiming=4"}).build.avg_timing, 4);
  EXPECT_EQ(parse({"--profilingVerbosity=none"}).build.verbosity, nvinfer1::ProfilingVerbosity::kNONE);
  EXPECT_EQ(parse({"--percentile=50,99.5"}).percentiles, (std::vector<double>{50, 99.5}));
  for (const char* wrong : {"--device=h200",
                            "--device=-1",
                            "--duration=-1",
                            "--iterations=-3",
                            "--avgRuns=0",
                            "--percentile=101",
                            "--percentile=x",
                            "--profilingVerbosity=loud",
                            "--avgTiming=0",
                            "--warmUp=-1",
                            "--noSuchFlag",
                            "--infStreams=0",
                            "--precisionConstraints=maybe",
                            "--tacticSources=CUDNN",
                            "--inputIOFormats=fp16",
                            "--inputIOFormats=fp16:xyz",
                            "--accuracyAlgorithm=l3",
                            "--allocationStrategy=heap",
                            "--tempfileControls=temporary:perhaps",
                            "--fp16=1",
                            "--loadInputs=x",
                            "--minShapes=x",
                            "--saveAllDebugTensors=xml",
                            "--profile=-1",
                            "x",
                            "--onnx"})
    EXPECT_ANY_THROW(parse({wrong})) << wrong;
}

TEST(ExecFlags, ShapesBelongToTheProfileBeforeThem) {
  const Exec e =
      parse({"--profile=1", "--minShapes=x:1x3,'y:0':2", "--maxShapes=x:8x3", "--profile=0", "--optShapes=x:4x3"});
  ASSERT_EQ(e.build.more_profiles.size(), 1U);
  EXPECT_EQ(e.build.more_profiles[0].min_shapes.at("x"), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(e.build.more_profiles[0].max_shapes.at("x"), (std::vector<int64_t>{8, 3}));
  EXPECT_EQ(e.build.opt_shapes.at("x"), (std::vector<int64_t>{4, 3}));
  EXPECT_TRUE(e.build.min_shapes.empty());
}

TEST(ExecFlags, PairsAndListsMayBeQuoted) {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(parse_pairs("a:f,'b,c':g", "--f", "N:F"), (Pairs{{"a", "f"}, {"b,c", "g"}}));
  EXPECT_EQ(parse_pairs("x:0:file", "--f", "N:F"), (Pairs{{"x:0", "file"}}));
  EXPECT_EQ(parse_list("a,'b,c',d"), (std::vector<std::string>{"a", "b,c", "d"}));
  for (const char* wrong : {"", "a", ":f", "a:", "'a:f", "a:f,,"})
    EXPECT_THROW(parse_pairs(wrong, "--f", "N:F"), Usage) << wrong;
}

// What trtexec takes at either level of the API, and what it took before.
constexpr const char* kNames =
    "--adjustForDLA --allocationStrategy --allowGPUFallback --allowWeightStreaming --asyncFileReader --avgRuns "
    "--avgTiming "
    "--best --bf16 --buildDLAStandalone --builderOptimizationLevel --calib --calibProfile --consistency --cpuOnly "
    "--decomposableAttentions --device --directIO --distributiveIndependence --dumpKernelText --dumpLayerInfo "
    "--dumpOptimizationProfile --dumpOutput --dumpProfile --dumpRawBindingsToFile --dumpRefit --duration "
    "--dynamicPlugins "
    "--enablePluginOverride --errorOnTimingCacheMiss --excludeLeanRuntime --exportLayerInfo --exportOutput "
    "--exportProfile --exportTimes --exposeDMA --fp16 --fp8 --getPlanVersionOnly --hardwareCompatibilityLevel "
    "--idleTime "
    "--ignoreParsedPluginLibs --infStreams --inputIOFormats --int4 --int8 --iterations --l2LimitForTiling "
    "--layerDeviceTypes --layerOutputTypes --layerPrecisions --leanDLLPath --loadEngine --loadInputs --markDebug "
    "--markUnfusedTensorsAsDebugTensors --maxAuxStreams --maxShapes --maxShapesCalib --maxTactics --memPoolSize "
    "--minShapes --minShapesCalib --monitorMemory --noBuilderCache --noCompilationCache --noDataTransfers --noTF32 "
    "--onnx "
    "--optShapes --optShapesCalib --outputIOFormats --percentile --persistentCacheRatio --pi --pluginInstanceNorm "
    "--plugins --precisionConstraints --preview --profile --profilingVerbosity --refit --refitFromOnnx "
    "--remoteAutoTuningConfig --reportCapabilityDLA --restricted --runtimePlatform --safe --safetyPlugins "
    "--saveAllDebugTensors --saveDebugTensors --saveEngine --separateProfileRun --serialized --setPluginsToSerialize "
    "--shapes --skipInference --sleepTime --sparsity --staticPlugins --std --streams --stripAllWeights --stripWeights "
    "--stronglyTyped --tacticSources --tempdir --tempfileControls --threads --tilingOptimizationLevel "
    "--timeDeserialize "
    "--timeRefit --timingCacheFile --uint8AsymmetricQuantizationDLA --useCudaGraph --useDLACore --useManagedMemory "
    "--useProfile --useRuntime --useSpinWait --vc --verbose --versionCompatible --warmUp --weightStreamingBudget "
    "--weightless -v --accuracyAlgorithm --accuracyThreshold --atol --includeDataTransfers --loadRefOutputs "
    "--noCudaGraph --noSpinWait --refPair --rtol --batch --buildOnly --deploy --explicitBatch --heuristic --maxBatch "
    "--minTiming --model --nvtxMode --output --threads_per_stream --uff --uffInput --uffNHWC --workspace "
    "--continue --dryRun --helpBuildRoute --saveAllEngines --setBuildRoute --tuneBuildRouteFile --tuneBuildRoutes "
    "--tuningCacheFile --tuningResultFile --tuningSearch --tuningTimeOut";

TEST(ExecFlags, TheTableHasAllOfBothLevelsAndOnce) {
  std::set<std::string> known;
  for (const Flag& flag : exec_flags()) {
    std::istringstream names(std::regex_replace(flag.names, std::regex(","), " "));
    for (std::string name; names >> name;) EXPECT_TRUE(known.insert(name).second) << name << " is there twice";
    EXPECT_GT(std::strlen(flag.what), 5U) << flag.names;
  }
  std::istringstream names(kNames);
  for (std::string name; names >> name;) EXPECT_EQ(known.count(name), 1U) << name;
}

TEST(ExecFlags, WhatIsNotHereIsRefusedWithTheReason) {
  size_t refused = 0;
  for (const Flag& flag : exec_flags()) {
    if (flag.group != FlagGroup::kRefused) continue;
    ++refused;
    try {
      parse({std::string(flag.names) + (flag.value == nullptr ? "" : "=1")});
      ADD_FAILURE() << flag.names;
    } catch (const Failure& failure) {
      EXPECT_THAT(failure.what(), HasSubstr(std::string(flag.names) + " is refused: " + flag.what));
    }
  }
  EXPECT_GT(refused, 15U);
  for (const char* flag : {"--sparsity=force", "--layerDeviceTypes=a:DLA"})
    EXPECT_THROW(parse({flag}), Failure) << flag;
}

TEST(ExecFlags, RuntimesAreForPlansThatAreThere) {
  const auto of_plan = [](std::vector<std::string> flags) {
    flags.insert(flags.begin(), "--loadEngine=m.plan");
    Arguments arguments(flags);
    return *parse_exec(arguments.count(), arguments.pointers.data());
  };
  EXPECT_EQ(parse({"--useRuntime=full"}).runtime, RuntimeKind::kFull);
  EXPECT_EQ(of_plan({"--useRuntime=lean"}).runtime, RuntimeKind::kLean);
  const Exec exec = of_plan({"--useRuntime=dispatch", "--leanDLLPath=lib.so", "--tempdir=/d",
                             "--tempfileControls=in_memory:deny,temporary:allow"});
  EXPECT_EQ(exec.runtime, RuntimeKind::kDispatch);
  EXPECT_EQ(exec.lean_library, "lib.so");
  EXPECT_EQ(exec.temporary_directory, "/d");
  EXPECT_EQ(exec.temporary_files, 2U);
  for (const char* flag : {"--useRuntime=lean", "--useRuntime=dispatch"}) EXPECT_THROW(parse({flag}), Usage) << flag;
  EXPECT_THROW(of_plan({"--leanDLLPath=lib.so"}), Usage);
  EXPECT_THROW(of_plan({"--useRuntime=other"}), Usage);
}

TEST(ExecFlags, CompiledKernelsAreNotKept) {
  const char* const before = std::getenv("WOOTZ_CUDA_CACHE");
  const std::string restore = before == nullptr ? "" : before;
  const auto flags = parse({"--noCompilationCache"}).build.flags;
  EXPECT_THAT(flags, ::testing::Contains(BuilderFlag::kDISABLE_COMPILATION_CACHE));
  EXPECT_STREQ(std::getenv("WOOTZ_CUDA_CACHE"), "") << "nor while the plan is loaded";
  if (before == nullptr)
    ::unsetenv("WOOTZ_CUDA_CACHE");
  else
    ::setenv("WOOTZ_CUDA_CACHE", restore.c_str(), 1);
}

// Whatever is accepted either does something or is named once.
TEST(ExecFlags, NoneIsDroppedWithoutAWord) {
  for (const auto& [flag, gpu, cpu] :
       std::initializer_list<std::tuple<const char*, bool, bool>>{{"--useCudaGraph", false, true},
                                                                  {"--noCudaGraph", false, true},
                                                                  {"--useSpinWait", false, false},
                                                                  {"--noDataTransfers", false, true},
                                                                  {"--infStreams=2", false, false},
                                                                  {"--persistentCacheRatio=0.5", false, true},
                                                                  {"--useManagedMemory", false, true},
                                                                  {"--inputIOFormats=fp16:chw", false, false},
                                                                  {"--noTF32", false, false},
                                                                  {"--stronglyTyped", false, false},
                                                                  {"--sleepTime=1", false, false}}) {
    const std::string name(flag, std::strcspn(flag, "="));
    const Exec exec = parse({flag});
    const auto names_it = ::testing::Contains(::testing::StartsWith(name + " "));
    EXPECT_EQ(::testing::Value(remarks_on(exec, true), names_it), gpu) << flag;
    EXPECT_EQ(::testing::Value(remarks_on(exec, false), names_it), cpu) << flag;
  }
  Arguments loading({"--loadEngine=m.plan", "--fp16", "--noTF32"});
  const Exec loads = *parse_exec(loading.count(), loading.pointers.data());
  EXPECT_THAT(remarks_on(loads, true), ::testing::ElementsAre(HasSubstr("--fp16"), HasSubstr("--noTF32")));
}

TEST(ExecRun, OnTheProcessorLatencyIsComputeTimeAndTheWallIsTheLoops) {
  const Folder folder;
  const Ran ran = exec({"--onnx=" + folder.at("m.onnx"), "--device=cpu", "--duration=0.5", "--iterations=20",
                        "--warmUp=50", "--avgRuns=5", "--exportTimes=" + folder.at("t.json"), "--useCudaGraph"});
  ASSERT_EQ(ran.status, 0) << ran.out << ran.error;
  EXPECT_THAT(ran.out, HasSubstr("[I] Backend: cpu"));
  EXPECT_THAT(ran.out, HasSubstr("[W] --useCudaGraph has no effect: a CPU engine"));
  EXPECT_THAT(ran.out, HasSubstr("Average on 5 runs - "));
  EXPECT_THAT(ran.out, HasSubstr("&&&& PASSED"));
  EXPECT_THAT(ran.out, HasSubstr("nothing is transferred"));
  const double wall = ran.number("Total Host Walltime: "), queries = ran.number("Timing trace has ");
  EXPECT_GE(wall, 0.5);
  EXPECT_GE(queries, 20);
  EXPECT_NEAR(ran.number("Throughput: ") * wall, queries, queries * 1e-3);
  EXPECT_LE(ran.number("Total GPU Compute Time: "), wall);
  std::ifstream file(folder.at("t.json"));
  const wootz::SortedJson rows = wootz::SortedJson::parse(file);
  EXPECT_EQ(rows.size(), static_cast<size_t>(queries));
  for (const auto& row : rows) EXPECT_EQ(row["latencyMs"], row["computeMs"]);
  EXPECT_GE(rows.front()["startComputeMs"], 50) << "warming up is not part of it";
}

TEST(ExecRun, IterationsAreReachedHoweverShortTheDuration) {
  const Folder folder;
  const Ran ran =
      exec({"--onnx=" + folder.at("m.onnx"), "--device=cpu", "--duration=0", "--iterations=137", "--warmUp=0"});
  ASSERT_EQ(ran.status, 0) << ran.out << ran.error;
  EXPECT_EQ(ran.number("Timing trace has "), 137);
}

// Streams run side by side: each does its part, and their times overlap.
TEST(ExecRun, StreamsRunSideBySide) {
  const Folder folder;
  const Ran ran = exec({"--onnx=" + folder.at("m.onnx"), "--device=cpu", "--duration=0", "--iterations=50",
                        "--warmUp=0", "--infStreams=3", "--sleepTime=20", "--exportTimes=" + folder.at("t.json")});
  ASSERT_EQ(ran.status, 0) << ran.out << ran.error;
  EXPECT_EQ(ran.number("Timing trace has "), 150);
  std::ifstream file(folder.at("t.json"));
  const wootz::SortedJson rows = wootz::SortedJson::parse(file);
  double last = -1;
  for (const auto& row : rows) {
    EXPECT_GE(row["startComputeMs"].get<double>(), last) << "in the order in which they began";
    last = row["startComputeMs"].get<double>();
  }
}

TEST(ExecRun, BuildOnlyInfersNothing) {
  const Folder folder;
  for (const char* flag : {"--buildOnly", "--skipInference"}) {
    const Ran ran = exec({"--onnx=" + folder.at("m.onnx"), "--saveEngine=" + folder.at("m.plan"), flag,
                          "--exportLayerInfo=" + folder.at("layers.json"), "--stronglyTyped", "--noTF32"});
    ASSERT_EQ(ran.status, 0) << ran.out << ran.error;
    EXPECT_THAT(ran.out, Not(HasSubstr("Performance summary")));
    EXPECT_THAT(ran.out, HasSubstr("Skipped inference phase"));
    EXPECT_THAT(ran.out, Not(HasSubstr("[W] --"))) << "these act";
    EXPECT_TRUE(std::ifstream(folder.at("m.plan")).good());
    EXPECT_TRUE(std::ifstream(folder.at("layers.json")).good());
  }
  const Ran loaded = exec({"--loadEngine=" + folder.at("m.plan"), "--duration=0", "--fp16"});
  ASSERT_EQ(loaded.status, 0) << loaded.out << loaded.error;
  EXPECT_THAT(loaded.out, HasSubstr("[W] --fp16 has no effect: --loadEngine builds nothing"));
  EXPECT_THAT(loaded.out, HasSubstr("[I] Backend: cpu (the plan's"));
}

// Nothing chooses a backend while this lives.
struct NoWish {
  NoWish() {
    if (!wootz::cuda::gpu().ok()) EXPECT_TRUE(wootz::cuda::use_emulator().ok());
    ::unsetenv("WOOTZ_BACKEND");
  }
  ~NoWish() { ::setenv("WOOTZ_BACKEND", "cpu", 1); }
  NoWish(const NoWish&) = delete;
  NoWish& operator=(const NoWish&) = delete;
};

TEST(ExecRunOnGpu, IsTheDefaultAndTimesThePartsOfAnInference) {
  const Folder folder;
  const NoWish no_wish;
  const Ran ran =
      exec({"--onnx=" + folder.at("m.onnx"), "--saveEngine=" + folder.at("m.plan"), "--duration=0.5", "--warmUp=50",
            "--useCudaGraph", "--noTF32", "--stronglyTyped", "--device=0", "--includeDataTransfers",
            "--exportTimes=" + folder.at("t.json"), "--builderOptimizationLevel=0"});
  ASSERT_EQ(ran.status, 0) << ran.out << ran.error;
  EXPECT_THAT(ran.out, HasSubstr("[I] Backend: cuda"));
  EXPECT_THAT(ran.out, Not(HasSubstr("[W] --"))) << "all of these act";
  for (const char* row : {"Latency: min", "Enqueue Time: min", "H2D Latency: min", "GPU Compute Time: min",
                          "D2H Latency: min", "Total GPU Compute Time: "})
    EXPECT_THAT(ran.out, HasSubstr(row));
  const double wall = ran.number("Total Host Walltime: "), queries = ran.number("Timing trace has ");
  EXPECT_GE(wall, 0.5);
  EXPECT_NEAR(ran.number("Throughput: ") * wall, queries, queries * 1e-3);
  std::ifstream file(folder.at("t.json"));
  const wootz::SortedJson rows = wootz::SortedJson::parse(file);
  ASSERT_EQ(rows.size(), static_cast<size_t>(queries));
  double transfers = 0;
  for (const auto& row : rows) {
    transfers += row["h2dMs"].get<double>() + row["d2hMs"].get<double>();
    EXPECT_NEAR(row["latencyMs"].get<double>(),
                row["h2dMs"].get<double>() + row["computeMs"].get<double>() + row["d2hMs"].get<double>(), 1e-9);
    const double rounding = 1e-3;  // times since the beginning are floats
    EXPECT_GE(row["startComputeMs"].get<double>() + rounding, row["endH2dMs"].get<double>());
    EXPECT_GE(row["startD2hMs"].get<double>() + rounding, row["endComputeMs"].get<double>());
  }
  EXPECT_GT(transfers, 0);
  const Ran without = exec(
      {"--loadEngine=" + folder.at("m.plan"), "--duration=0", "--noDataTransfers", "--noCudaGraph", "--exposeDMA"});
  ASSERT_EQ(without.status, 0) << without.out << without.error;
  EXPECT_THAT(without.out, HasSubstr("[I] Backend: cuda (the plan's"));
  EXPECT_THAT(without.out, Not(HasSubstr("[W] --")));
  EXPECT_EQ(without.number("H2D Latency: min = "), 0);
}

// What an engine on a device does with the flags that are for one.
TEST(ExecRunOnGpu, StreamsGraphsEventsMemoryAndCacheAct) {
  const Folder folder;
  const NoWish no_wish;
  ASSERT_EQ(exec({"--onnx=" + folder.at("m.onnx"), "--saveEngine=" + folder.at("m.plan"), "--skipInference",
                  "--builderOptimizationLevel=0"})
                .status,
            0);
  const auto counts = [&](const std::vector<std::string>& flags) {
    const wootz::cuda::EmulatorCounts before = wootz::cuda::emulator_counts();
    std::vector<std::string> all{"--loadEngine=" + folder.at("m.plan"), "--duration=0", "--iterations=20",
                                 "--warmUp=0"};
    all.insert(all.end(), flags.begin(), flags.end());
    const Ran ran = exec(all);
    EXPECT_EQ(ran.status, 0) << ran.out << ran.error;
    EXPECT_THAT(ran.out, Not(HasSubstr("[W] --")));
    wootz::cuda::EmulatorCounts after = wootz::cuda::emulator_counts();
    after.replays -= before.replays;
    after.managed -= before.managed;
    after.windows -= before.windows;
    return after;
  };
  if (!wootz::cuda::emulator_in_use()) GTEST_SKIP() << "what is counted is the emulator's";
  const wootz::cuda::EmulatorCounts usual = counts({});
  EXPECT_GE(usual.replays, 20);
  EXPECT_EQ(usual.managed + usual.windows, 0);
  EXPECT_EQ(counts({"--noCudaGraph"}).replays, 0);
  EXPECT_GE(counts({"--infStreams=2"}).replays, 40);
  EXPECT_GE(counts({"--infStreams=2", "--threads", "--noSpinWait"}).replays, 40);
  EXPECT_EQ(counts({"--useManagedMemory"}).managed, 2) << "x and y";
  EXPECT_GT(counts({"--persistentCacheRatio=0.5"}).windows, 0);
  EXPECT_GE(counts({"--dumpProfile"}).replays, 40) << "what is profiled is replayed too";
}

}  // namespace
}  // namespace wootz_cli
