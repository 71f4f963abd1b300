// Generated kernels without a GPU: they compile for the architectures that are built for, and keep to registers.
// (That they compute the right thing is the conformance suite's business, which runs them on the processor.)
// Why so long: sources of all kinds, and the tests that go through them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>
#include <set>

#include "backend/chain.h"
#include "backend/op_kernels.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/special/select.h"
#include "backends/cuda/jit/compiler.h"
#include "backends/cuda/jit/cubin.h"
#include "backends/cuda/providers.h"
#include "backends/cuda/targets/devices.h"
#include "base/testing.h"
#include "lower/lower.h"
#include "ops/cases.h"
#include "ops/infer.h"

namespace wootz::cuda {
namespace {

struct Sample {
  std::string name, source;
};

Problem with_images(Problem p, Layout layout) {
  const int rank = p.outputs.empty() ? 0 : p.outputs[0].dims.rank();
  for (TensorDesc& t : p.inputs) t.layout = !t.constant && t.dims.rank() == rank ? layout : Layout::kLinear;
  for (TensorDesc& t : p.outputs) t.layout = layout;
  return p;
}

// Every distinct source that the ops' cases lead to (those with WOOTZ_TEST_CASE in their name), in either layout of
// images. WOOTZ_TEST_ALL: equal ones as well, so that the names do not depend on the sources.
std::vector<Sample> all_sources(uint64_t seed, int64_t extent = 8) {
  const char* only = std::getenv("WOOTZ_TEST_CASE");
  std::vector<Sample> samples;
  std::set<std::string> seen;
  for (const OpCase& c : all_cases(seed)) {
    if ((only != nullptr && c.name.find(only) == std::string::npos) || !infer_graph(*c.graph).ok()) continue;
    LowerOptions options;
    options.backend = "cuda";
    options.providers = {&generated_provider()};
    options.profiles = {std::vector<SymbolRange>(c.graph->symbols().size(), SymbolRange{1, extent, 8 * extent})};
    const Result<Lowered> lowered = lower_graph(*c.graph, options);
    if (!lowered.ok()) continue;
    for (const Step& step : lowered->program.steps) {
      const bool images = !step.problem.outputs.empty() && step.problem.outputs[0].dims.rank() >= 3 &&
                          step.problem.family() != Family::kReformat;
      for (const Layout layout : {Layout::kLinear, Layout::kChannelsLast}) {
        if (layout == Layout::kChannelsLast && !images) continue;
        std::vector<Launch> launches;
        if (!generate_at_optimum(images ? with_images(step.problem, layout) : step.problem, &launches).ok()) {
          Selection selection;
          if (step.problem.family() != Family::kOp || !select_at_optimum(step.problem, &selection).ok()) continue;
          launches = std::move(selection.find);
          launches.insert(launches.end(), selection.write.begin(), selection.write.end());
        }
        for (size_t i = 0; i < launches.size(); ++i)
          if (seen.insert(launches[i].source).second || std::getenv("WOOTZ_TEST_ALL") != nullptr)
            samples.push_back(
                {fmt::format("{} step {} {} launch {} of {}x{}x{}, {} threads", c.name,
                             &step - lowered->program.steps.data(), layout_name(layout), i, launches[i].size.grid_x,
                             launches[i].size.grid_y, launches[i].size.grid_z, launches[i].size.block),
                 std::move(launches[i].source)});
      }
    }
  }
  return samples;
}

TensorDesc tensor(DType type, const Dims& dims) {
  TensorDesc t;
  t.dtype = type;
  t.dims = t.max_dims = dims;
  return t;
}

// Sources for numbers that only running tells: no case has such a network.
std::vector<Sample> late_sources() {
  std::vector<Sample> samples;
  const auto add = [&](const char* op, OpKernelParams params, const Dims& numbers, const Dims& result) {
    OpParams of_step;
    of_step.op = op;
    of_step.kernel = box_params(std::move(params));
    Problem p;
    p.params = std::move(of_step);
    p.inputs = {tensor(DType::kF32, {6, 8}), tensor(DType::kI64, numbers)};
    p.outputs = {tensor(DType::kF32, result)};
    p.num_main = 2;
    std::vector<Launch> launches;
    const Status status = generate_at_optimum(p, &launches);
    EXPECT_TRUE(status.ok()) << op << ": " << status.to_string();
    for (Launch& launch : launches) samples.push_back({std::string("late ") + op, std::move(launch.source)});
  };
  add("Slice", SliceOpParams(), {2}, {3, 4});
  add("Pad", PadOpParams(), {4}, {7, 10});
  return samples;
}

// Sources of reformats between layouts that inputs and outputs have because an application wants it: no case does.
std::vector<Sample> border_sources() {
  std::vector<Sample> samples;
  const auto add = [&](Layout from, Layout to) {
    Problem p;
    p.set_family(Family::kReformat);
    p.inputs = {tensor(DType::kF16, {2, 19, 5, 7})};
    p.outputs = p.inputs;
    p.inputs[0].layout = from;
    p.outputs[0].layout = to;
    p.num_main = 1;
    std::vector<Launch> launches;
    const Status status = generate_at_optimum(p, &launches);
    EXPECT_TRUE(status.ok()) << status.to_string();
    for (Launch& l : launches)
      samples.push_back({fmt::format("reformat {} {}", layout_name(from), layout_name(to)), std::move(l.source)});
  };
  add(Layout::kLinear, Layout::kBlocked4);
  add(Layout::kChannelsLast8, Layout::kLinear);
  return samples;
}

PointwiseExpr rounded_to_bytes() {
  PointwiseExpr e;
  e.num_inputs = 1;
  const uint16_t x = e.input(0, DType::kF32), scale = e.constant(0.25, DType::kF32), zero = e.constant(0, DType::kF32);
  e.outputs = {e.push(PwOp::kQuantize, DType::kI8, x, scale, zero)};
  return e;
}

// Sources for operands in unlike layouts, in which no case is.
std::vector<Sample> mixed_sources() {
  std::vector<Sample> samples;
  for (const DType type : {DType::kF16, DType::kI8}) {
    const bool bytes = type == DType::kI8;
    Problem p;
    p.params = ConvParams{.strides = {2, 2}, .dilations = {1, 1}, .pads = {3, 3, 3, 3}};
    if (bytes) {
      p.as<ConvParams>().x_scale = p.as<ConvParams>().w_scale = {0.5};
      p.epilogue = rounded_to_bytes();
    }
    p.inputs = {tensor(type, {1, 3, 64, 64}), tensor(type, {64, 3, 7, 7})};
    p.inputs[1].constant = true;
    p.outputs = {tensor(type, {1, 64, 32, 32})};
    p.outputs[0].layout = Layout::kChannelsLast;
    p.num_main = 2;
    p.acc_dtype = bytes ? DType::kI32 : DType::kF32;
    std::vector<Launch> launches;
    const Status status = generate_at_optimum(p, &launches);
    EXPECT_TRUE(status.ok()) << status.to_string();
    for (Launch& launch : launches) samples.push_back({"convolution of few channels", std::move(launch.source)});
    if (bytes) continue;
    Problem pool;
    pool.params = PoolParams{.kernel = {3, 3}, .strides = {2, 2}, .pads = {1, 1, 1, 1}};
    pool.inputs = p.outputs;
    pool.outputs = {tensor(type, {1, 64, 16, 16})};
    pool.outputs[0].layout = Layout::kChannelsLast;
    pool.num_main = 1;
    pool.acc_dtype = type;
    p.acc_dtype = type;
    launches.clear();
    const Status pooled = generate_at_optimum(make_chain(p, pool), &launches);
    EXPECT_TRUE(pooled.ok()) << pooled.to_string();
    for (Launch& launch : launches)
      samples.push_back({"convolution of few channels, pooled", std::move(launch.source)});
  }
  Problem p;
  p.params = ConvParams{.strides = {1, 1}, .dilations = {1, 1}, .pads = {0, 0, 0, 0}};
  p.inputs = {tensor(DType::kF16, {1, 64, 16, 16}), tensor(DType::kF16, {255, 64, 1, 1})};
  p.inputs[0].layout = Layout::kChannelsLast;
  p.inputs[1].constant = true;
  p.outputs = {tensor(DType::kF32, {1, 255, 16, 16})};
  p.num_main = 2;
  p.epilogue.num_inputs = 1;
  p.epilogue.outputs = {p.epilogue.input(0, DType::kF32)};
  std::vector<Launch> launches;
  const Status status = generate_at_optimum(p, &launches);
  EXPECT_TRUE(status.ok()) << status.to_string();
  for (Launch& launch : launches) samples.push_back({"convolution to planes", std::move(launch.source)});
  return samples;
}

// An attention that reads caches where they lie.
std::vector<Sample> cached_sources() {
  std::vector<Sample> samples;
  for (const bool kept : {false, true}) {
    Problem p;
    p.params = CachedAttentionParams{.concats = box_params(ConcatsParams{.axis = 2, .counts = {2, 2}, .perms = {}}),
                                     .attention = box_params(AttentionParams{.scale = 0.1}),
                                     .keys = kept ? 1 : 0};
    for (int i = 0; i < 2; ++i) {
      p.inputs.push_back(tensor(DType::kF32, {1, 4, 70, 128}));
      p.inputs.push_back(tensor(DType::kF16, {1, 4, 2, 128}));
    }
    p.inputs.push_back(tensor(DType::kF16, {1, 8, 2, 128}));
    p.outputs = {tensor(DType::kF16, {1, 8, 2, 128})};
    if (kept) p.outputs.resize(3, tensor(DType::kF16, {1, 4, 72, 128}));
    p.num_main = 5;
    std::vector<Launch> launches;
    const Status status = generate_at_optimum(p, &launches);
    EXPECT_TRUE(status.ok()) << status.to_string();
    for (Launch& launch : launches) samples.push_back({"cached attention", std::move(launch.source)});
  }
  return samples;
}

// Products by constants with 2:4 zeros, which cases' graphs do not say.
std::vector<Sample> sparse_sources() {
  Problem p;
  p.params = GemmParams{.sparse = true};
  p.inputs = {tensor(DType::kF16, {330, 896}), tensor(DType::kF16, {896, 296})};
  p.inputs[1].constant = true;
  p.outputs = {tensor(DType::kF16, {330, 296})};
  p.num_main = 2;
  std::vector<Sample> samples;
  std::vector<Launch> launches;
  const Status status = generate_at_optimum(p, &launches);
  EXPECT_TRUE(status.ok()) << status.to_string();
  for (Launch& launch : launches) samples.push_back({"product by 2:4 weights", std::move(launch.source)});
  return samples;
}

// Of the cases, and of what no case is.
std::vector<Sample> every_source(uint64_t seed) {
  std::vector<Sample> samples = all_sources(seed);
  for (auto* const more : {late_sources, border_sources, mixed_sources, cached_sources, sparse_sources})
    for (Sample& sample : more()) samples.push_back(std::move(sample));
  return samples;
}

// By hand, before and after a change that must leave the sources as they are: writes them to the file $WOOTZ_TEST_OUT.
TEST(Generated, DISABLED_WriteSources) {
  const char* path = std::getenv("WOOTZ_TEST_OUT");
  ASSERT_NE(path, nullptr);
  std::ofstream file(path);
  for (const int64_t extent : {8, 96})
    for (const Sample& sample : all_sources(1, extent))
      file << "==== " << sample.name << " at " << extent << '\n' << sample.source << '\n';
}

// By which files are found in sources.
std::set<std::string> first_lines_of_files() {
  std::set<std::string> lines;
  for (const KernelFile& file : kernel_files()) lines.insert(std::string(file.text.substr(0, file.text.find('\n'))));
  return lines;
}

// A file that no case leads to is compiled by no test.
TEST(Generated, EveryKernelFileIsUsed) {
  if (std::getenv("WOOTZ_TEST_CASE") != nullptr) GTEST_SKIP() << "WOOTZ_TEST_CASE: only some cases are looked at";
  std::set<std::string> unused = first_lines_of_files();
  EXPECT_EQ(unused.size(), kernel_files().size()) << "two files begin with the same line";
  const std::vector<Sample> samples = every_source(test_seed());
  for (const Sample& sample : samples)
    std::erase_if(unused, [&](const std::string& line) { return sample.source.find(line) != std::string::npos; });
  std::erase_if(unused, [](const std::string& line) { return prelude().find(line) != std::string::npos; });
  for (const std::string& line : unused)
    ADD_FAILURE() << "no case of src/ops leads to the kernel file that begins: " << line;
}

// Of shuffled samples the first `count` for all architectures, then those that have a kernel file which none before
// them has, for one.
struct ToCompile {
  const Sample* sample;
  bool everywhere;
};
std::vector<ToCompile> to_compile(const std::vector<Sample>& samples, size_t count) {
  std::set<std::string> left = first_lines_of_files();
  std::vector<ToCompile> chosen;
  for (const Sample& sample : samples) {
    const auto is_there = [&](const std::string& line) { return sample.source.find(line) != std::string::npos; };
    if (std::erase_if(left, is_there) > 0 || chosen.size() < count) chosen.push_back({&sample, chosen.size() < count});
  }
  return chosen;
}

TEST(Generated, CompilesForEveryArchitectureWithoutSpilling) {
  if (const Result<std::string> version = compiler_version(); !version.ok())
    GTEST_SKIP() << version.status().to_string();
  const uint64_t seed = test_seed();
  std::vector<Sample> samples = every_source(seed);
  if (std::getenv("WOOTZ_TEST_CASE") == nullptr) {
    ASSERT_GT(samples.size(), 300u);
  }
  std::mt19937_64 random(seed);
  std::shuffle(samples.begin(), samples.end(), random);
  const char* wanted = std::getenv("WOOTZ_TEST_KERNELS");
  const size_t count = wanted == nullptr ? 24 : std::strtoul(wanted, nullptr, 10);
  ::setenv("WOOTZ_CUDA_CACHE", "", 1);
  size_t local = 0;
  const std::vector<ToCompile> chosen = to_compile(samples, count);
  for (const ToCompile& each : chosen) {
    const Sample& s = *each.sample;
    // Clusters and tensor maps are not offered below 9.0.
    const bool hopper = s.source.find("__cluster_dims__") != std::string::npos ||
                        s.source.find("const __grid_constant__ TensorMap") != std::string::npos;
    const size_t drawn = random() % 3;
    constexpr const char* kAll[] = {"sm_80", "sm_89", "sm_90a"};
    for (const char* const arch : kAll) {
      if (hopper ? arch != kAll[2] : !each.everywhere && arch != kAll[drawn]) continue;
      const Result<std::vector<char>> code = compile_cuda(s.source, arch);
      ASSERT_TRUE(code.ok()) << s.name << " " << arch << ": " << code.status().to_string() << "\n" << s.source;
      const auto stacks = stack_of_functions(*code);
      ASSERT_TRUE(stacks.ok() && stacks->count("wootz_kernel") == 1) << s.name << ": " << stacks.status().to_string();
      const uint32_t used = stacks->at("wootz_kernel");
      // Range reduction of the trigonometric functions keeps its table on the stack, and so do f64's power and tangent.
      // A few registers are let pass: ptxas puts one there in attention with a mask of booleans, and six in a cubic
      // resize.
      const bool allowed = used <= 24 || s.source.find("w_sin(") != std::string::npos ||
                           s.source.find("= w_cos(") != std::string::npos ||
                           s.source.find("= w_tan(") != std::string::npos;
      local += used != 0;
      if (used != 0) std::printf("  %s, %s: %u bytes of stack\n", s.name.c_str(), arch, used);
      EXPECT_TRUE(used == 0 || allowed) << s.name << ", " << arch << ": " << used << " bytes of stack";
    }
  }
  // The reader of stacks sees one where there is one.
  const Result<std::vector<char>> spilling = compile_cuda(
      "extern \"C\" __global__ void wootz_kernel(int* x) { int a[256]; for (int i = 0; i < 256; ++i) a[i] = 0;"
      " for (int i = 0; i < 256; ++i) a[x[i] & 255] += i; x[0] = a[x[1] & 255]; }",
      "sm_90a");
  ASSERT_TRUE(spilling.ok());
  const auto stacks = stack_of_functions(*spilling);
  ASSERT_TRUE(stacks.ok());
  EXPECT_GE(stacks->at("wootz_kernel"), 1024u);
  std::printf("%zu of %zu kernels compiled, %zu use a stack\n", chosen.size(), samples.size(), local);
}

// A 3x3 convolution of FP16, channels as many as results, of `images` of 14 x 14 pixels.
Problem convolution_of_halves(int64_t images, int64_t channels) {
  Problem p;
  p.set_family(Family::kConv);
  p.params = ConvParams{.strides = {1, 1}, .dilations = {1, 1}, .pads = {1, 1, 1, 1}};
  p.inputs = {tensor(DType::kF16, {images, channels, 14, 14}), tensor(DType::kF16, {channels, channels, 3, 3})};
  p.inputs[1].constant = true;
  p.outputs = {tensor(DType::kF16, {images, channels, 14, 14})};
  p.num_main = 2;
  p.acc_dtype = DType::kF32;
  return p;
}

std::set<std::string> tiles_for(const Problem& problem, const char* isa, std::string_view family = "_tile_") {
  const std::vector<DeviceDescription> devices = known_devices();
  const auto device = std::find_if(devices.begin(), devices.end(), [&](const auto& d) { return d.isa == isa; });
  if (device == devices.end()) return {fmt::format("no device of {}", isa)};
  Limits limits;
  limits.device = &*device;
  std::vector<Candidate> offers;
  std::vector<Refusal> refusals;
  generated_provider().tactics(problem, limits, &offers, &refusals);
  std::set<std::string> tiles;
  for (const Candidate& c : offers)
    if (c.tactic.kernel.find(family) != std::string::npos) tiles.insert(c.tactic.kernel);
  return tiles;
}

TEST(HalfTiles, AFewAreOfferedWhereTheyMayWin) {
  for (const int64_t channels : {64, 128, 256}) {
    const size_t count = tiles_for(convolution_of_halves(1, channels), "sm_90").size();
    EXPECT_GE(count, 1u) << channels;
    EXPECT_LE(count, 4u) << channels;
  }
  EXPECT_TRUE(tiles_for(convolution_of_halves(64, 512), "sm_90").empty());
}

TEST(HalfTiles, ThoseOfClustersAreForGpusThatHaveClusters) {
  const Problem p = convolution_of_halves(1, 256);
  EXPECT_EQ(tiles_for(p, "sm_90").count("conv_generated_tile_32x64k4c4"), 1u);
  for (const char* isa : {"sm_80", "sm_86", "sm_89"}) {
    for (const std::string& tile : tiles_for(p, isa)) EXPECT_EQ(tile.rfind('c'), 0u) << isa << " " << tile;
    Limits limits;
    const std::vector<DeviceDescription> devices = known_devices();
    for (const DeviceDescription& d : devices)
      if (d.isa == isa) limits.device = &d;
    const auto kernel = generated_provider().create({"generated", "conv_generated_tile_32x64k4c4", ""},
                                                    with_images(p, Layout::kChannelsLast), limits);
    ASSERT_FALSE(kernel.ok());
    EXPECT_NE(kernel.status().message().find("compute capability 9.0"), std::string::npos) << kernel.status().message();
  }
}

Problem attention_of(int64_t batch, int64_t heads, int64_t keys, int64_t size, DType type = DType::kF16) {
  Problem p;
  p.params = AttentionParams{};
  const Dims dims{batch, heads, keys, size};
  for (int i = 0; i < 3; ++i) p.inputs.push_back({type, Layout::kLinear, dims, dims, false});
  p.outputs = {{type, Layout::kLinear, dims, dims, false}};
  p.num_main = 3;
  return p;
}

// Few keys are a matter of latency, many one of fetching them for more rows at once, which libraries do.
TEST(AttentionOnTensorCores, IsOfferedForFewKeys) {
  const auto offered = [](const Problem& p) { return !tiles_for(p, "sm_90", "attention_generated_mma").empty(); };
  EXPECT_TRUE(offered(attention_of(1, 12, 128, 64)));
  EXPECT_TRUE(offered(attention_of(1, 12, 197, 64, DType::kBF16)));
  EXPECT_TRUE(offered(attention_of(64, 3, 49, 32)));
  EXPECT_FALSE(offered(attention_of(1, 8, 1500, 64)));
  EXPECT_FALSE(offered(attention_of(32, 12, 128, 64)));
  EXPECT_FALSE(offered(attention_of(1, 12, 128, 40)));
  EXPECT_FALSE(offered(attention_of(1, 12, 128, 64, DType::kF32)));
}

Problem gate_of(int64_t channels, int64_t hidden, int64_t extent) {
  Problem p;
  p.params = SqueezeExciteParams{.has_b2 = true};
  const auto add = [&](std::vector<TensorDesc>* to, const Dims& dims, bool constant) {
    to->push_back({DType::kF16, Layout::kLinear, dims, dims, constant});
  };
  add(&p.inputs, {1, channels, extent, extent}, false);
  add(&p.inputs, {hidden, channels, 1, 1}, true);
  add(&p.inputs, {channels, hidden, 1, 1}, true);
  add(&p.inputs, {channels}, true);
  add(&p.outputs, {1, channels, 1, 1}, false);
  p.num_main = 4;
  return p;
}

TEST(SqueezeExcite, IsOfferedWhereThereAreClusters) {
  const auto offered = [](const Problem& p, const char* isa) { return tiles_for(p, isa, "squeeze_excite"); };
  const std::set<std::string> all{"squeeze_excite_generated_c8", "squeeze_excite_generated_c16",
                                  "squeeze_excite_generated_apart"};
  EXPECT_EQ(offered(gate_of(672, 28, 24), "sm_90"), all);
  EXPECT_TRUE(offered(gate_of(672, 28, 24), "sm_80").empty());
  EXPECT_TRUE(offered(gate_of(20, 3, 24), "sm_90").count("squeeze_excite_generated_c8") == 0);       // no packs of 8
  EXPECT_TRUE(offered(gate_of(8192, 2048, 7), "sm_90").count("squeeze_excite_generated_c16") == 0);  // too many weights
}

// A plan may say anything.
TEST(SqueezeExcite, RefusesOperandsThatDoNotGoTogether) {
  const auto refused = [](const std::function<void(Problem*)>& spoil) {
    Problem p = with_images(gate_of(64, 8, 14), Layout::kChannelsLast);
    std::vector<Launch> launches;
    const bool good = generate_at_optimum(p, &launches).ok();
    spoil(&p);
    return good && !generate_at_optimum(p, &launches).ok();
  };
  const auto sized = [](int input, const Dims& dims) {
    return [=](Problem* p) {
      p->inputs[static_cast<size_t>(input)].dims = p->inputs[static_cast<size_t>(input)].max_dims = dims;
    };
  };
  EXPECT_TRUE(refused(sized(0, {1, 72, 14, 14})));
  EXPECT_TRUE(refused(sized(1, {8, 56, 1, 1})));
  EXPECT_TRUE(refused(sized(1, {8, 64, 3, 3})));
  EXPECT_TRUE(refused(sized(2, {64, 16, 1, 1})));
  EXPECT_TRUE(refused(sized(3, {63})));
  EXPECT_TRUE(refused([](Problem* p) { p->as<SqueezeExciteParams>().has_b1 = true; }));
  EXPECT_TRUE(refused([](Problem* p) { p->inputs.pop_back(); }));
  EXPECT_TRUE(refused([](Problem* p) {
    PointwiseExpr& e = p->as<SqueezeExciteParams>().hidden;
    e.num_inputs = 2;
    e.outputs = {e.push(PwOp::kAdd, DType::kF16, e.input(0, DType::kF16), e.input(1, DType::kF16))};
  }));
}

}  // namespace
}  // namespace wootz::cuda
