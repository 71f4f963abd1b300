// The stages as a whole: their table, their times, their dumps, and how often kernels are created.
#include "build/build.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/json.h"
#include "base/testing.h"
#include "build/stage_dump.h"
#include "build/stages.h"
#include "ir/text.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "plan/read.h"
#include "plan/write.h"

namespace wootz {
namespace {

namespace fs = std::filesystem;

// Equal convolutions in a row, with weights too large to stand in a dump's text.
Result<std::unique_ptr<Graph>> chain_of_convolutions(int count) {
  std::string text = "graph \"chain\" {\n  %v0: f32[1,16,8,8] = input;\n";
  for (int i = 0; i < count; ++i) text += fmt::format("  %w{}: f32[16,16,3,3] = const splat(0.0{});\n", i, i + 1);
  for (int i = 0; i < count; ++i)
    text += fmt::format(
        "  %c{0} = Conv(%v{0}, %w{0}) {{pads = [1, 1, 1, 1]}} \"conv{0}\";\n  %v{1} = Relu(%c{0}) \"relu{0}\";\n", i,
        i + 1);
  text += fmt::format("  return %v{};\n}}\n", count);
  WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<Graph> graph, parse_graph(text, find_op));
  WOOTZ_RETURN_IF_ERROR(infer_graph(*graph));
  return graph;
}

BuildSettings untimed() {
  BuildSettings settings;
  settings.measure = false;
  settings.threads = 1;
  return settings;
}

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / fmt::format("wootz_dump_{}_{}", ::getpid(), test_seed())) {}
  ~Folder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

TEST(Build, EachStageHasANameAndIsTimed) {
  const auto graph = chain_of_convolutions(2);
  ASSERT_TRUE(graph.ok()) << graph.status().to_string();
  const Result<BuildOutput> built = build_program(**graph, untimed());
  ASSERT_TRUE(built.ok()) << built.status().to_string();
  std::set<std::string> names;
  ASSERT_EQ(built->report.stages.size(), build_stages().size());
  double sum = 0;
  for (size_t s = 0; s < build_stages().size(); ++s) {
    EXPECT_EQ(built->report.stages[s].name, build_stages()[s].name);
    EXPECT_TRUE(names.insert(build_stages()[s].name).second) << build_stages()[s].name;
    EXPECT_NE(std::string(build_stages()[s].what), "");
    sum += built->report.stages[s].ms;
  }
  EXPECT_LE(sum, built->report.total_ms);
}

TEST(Build, EqualStepsShareOneKernelThroughAllStages) {
  size_t created[2] = {};
  for (const int count : {2, 8}) {
    const auto graph = chain_of_convolutions(count);
    ASSERT_TRUE(graph.ok()) << graph.status().to_string();
    BuildSettings settings = untimed();
    settings.disabled_passes = {"fuse_chains"};
    const Result<BuildOutput> built = build_program(**graph, settings);
    ASSERT_TRUE(built.ok()) << built.status().to_string();
    created[count == 8] = built->report.kernels_created;
  }
  EXPECT_GT(created[0], 0u);
  // The first and the last may have other layouts than those between them; beside that, more steps cost no kernels.
  EXPECT_LE(created[1], created[0] + 4);
}

// One product with an open number of rows.
Result<std::unique_ptr<Graph>> rows_times_matrix() {
  WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<Graph> graph, parse_graph(R"(graph "rows" {
  sym N = input_dim %x 0;
  %x: f32[N,48] = input;
  %w: f32[48,40] = const splat(0.25);
  %y = MatMul(%x, %w) "product";
  return %y;
}
)",
                                                                   find_op));
  WOOTZ_RETURN_IF_ERROR(infer_graph(*graph));
  return graph;
}

BuildProfile rows(int64_t least, int64_t usual, int64_t most) {
  BuildProfile profile;
  profile.dims["x"] = {{least, 48}, {usual, 48}, {most, 48}};
  return profile;
}

// Rows of the first step's first operand: at the optimum, and at most.
std::pair<int64_t, int64_t> rows_of(const Program& program) {
  const TensorDesc& x = program.steps.front().problem.inputs[0];
  return {x.dims[0], x.max_dims[0]};
}

TEST(Build, EachProfileIsTunedByItself) {
  const auto graph = rows_times_matrix();
  ASSERT_TRUE(graph.ok()) << graph.status().to_string();
  BuildSettings settings = untimed();
  settings.profiles = {rows(1, 1, 1), rows(2, 32, 64), rows(1, 1, 1), rows(2, 32, 64), rows(65, 100, 200)};
  const Result<BuildOutput> built = build_program(**graph, settings);
  ASSERT_TRUE(built.ok()) << built.status().to_string();
  const Program& program = *built->program;
  ASSERT_EQ(program.profiles.size(), 5U);
  std::vector<int32_t> bodies;
  for (const PlanProfile& profile : program.profiles) bodies.push_back(profile.body);
  EXPECT_EQ(bodies, (std::vector<int32_t>{-1, 0, -1, 0, 1})) << "equal ranges have one program";
  ASSERT_EQ(program.bodies.size(), 2U);
  EXPECT_EQ(rows_of(program), std::make_pair(int64_t{1}, int64_t{1}));
  EXPECT_EQ(rows_of(program.bodies[0]), std::make_pair(int64_t{32}, int64_t{64}));
  EXPECT_EQ(rows_of(program.bodies[1]), std::make_pair(int64_t{100}, int64_t{200}));
  EXPECT_EQ(program.bodies[0].name, "profile 1");
  EXPECT_EQ(built->report.memory.size(), 5U);
}

TEST(Build, ProfilesShareTheBytesOfEqualWeights) {
  size_t bytes[2] = {};
  for (const bool two : {false, true}) {
    const auto graph = rows_times_matrix();
    ASSERT_TRUE(graph.ok()) << graph.status().to_string();
    BuildSettings settings = untimed();
    settings.backend = "cpu";
    settings.profiles = {rows(2, 32, 64)};
    if (two) settings.profiles.push_back(rows(2, 33, 64));
    const Result<BuildOutput> built = build_program(**graph, settings);
    ASSERT_TRUE(built.ok()) << built.status().to_string();
    ASSERT_EQ(built->program->bodies.size(), two ? 1U : 0U);
    const Result<RawBytes> plan = write_plan(*built->program);
    ASSERT_TRUE(plan.ok()) << plan.status().to_string();
    const auto read = read_plan(*plan);
    ASSERT_TRUE(read.ok()) << read.status().to_string();
    bytes[two] = constant_bytes(**read);
    if (two) {
      const Program& program = **read;
      ASSERT_EQ(program.steps.front().tactic, program.bodies[0].steps.front().tactic) << "the test needs one tactic";
    }
  }
  EXPECT_GT(bytes[0], 0U);
  EXPECT_EQ(bytes[0], bytes[1]);
}

TEST(Build, OneProgramServesAllProfilesWhereItMust) {
  for (const char* why : {"reference", "streamed"}) {
    const auto graph = rows_times_matrix();
    ASSERT_TRUE(graph.ok()) << graph.status().to_string();
    BuildSettings settings = untimed();
    settings.profiles = {rows(1, 1, 1), rows(2, 32, 64)};
    if (why == std::string("reference"))
      settings.backend = "reference";
    else
      settings.one_program = true;
    const Result<BuildOutput> built = build_program(**graph, settings);
    ASSERT_TRUE(built.ok()) << built.status().to_string();
    EXPECT_TRUE(built->program->bodies.empty()) << why;
    EXPECT_EQ(rows_of(*built->program).second, 64) << why;
  }
}

TEST(Build, DumpsReadBack) {
  const Folder folder;
  const auto graph = chain_of_convolutions(3);
  ASSERT_TRUE(graph.ok()) << graph.status().to_string();
  const std::string before = print_graph(**graph);
  BuildSettings settings = untimed();
  settings.dump_stages = folder.path().string();
  const Result<BuildOutput> built = build_program(**graph, settings);
  ASSERT_TRUE(built.ok()) << built.status().to_string();

  std::ifstream stream(folder.path() / "stages.json");
  const SortedJson json = SortedJson::parse(stream, nullptr, false);
  ASSERT_TRUE(json.is_object());
  ASSERT_EQ(json["stages"].size(), build_stages().size());
  std::string first, last, last_program;
  std::set<std::string> stages;
  for (const SortedJson& file : json["files"]) {
    const std::string name = file["file"];
    stages.insert(file["stage"].get<std::string>());
    ASSERT_TRUE(fs::exists(folder.path() / name)) << name;
    if (name.find(".program.") != std::string::npos) last_program = name;
    if (name.find(".graph.") == std::string::npos) continue;
    const auto read = read_dumped_graph((folder.path() / name).string());
    ASSERT_TRUE(read.ok()) << name << ": " << read.status().to_string();
    (first.empty() ? first : last) = print_graph(**read);
  }
  EXPECT_EQ(first, before);
  EXPECT_EQ(last, print_graph(**graph)) << "the graph as the build left it";
  // What the last stage left is what was built: the same plan, weights and all.
  const Result<Program> program = read_dumped_program((folder.path() / last_program).string());
  ASSERT_TRUE(program.ok()) << program.status().to_string();
  const Result<RawBytes> dumped = write_plan(*program), plan = write_plan(*built->program);
  ASSERT_TRUE(dumped.ok()) << dumped.status().to_string();
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  EXPECT_TRUE(std::ranges::equal(*dumped, *plan));
  for (const char* stage : {"import", "passes.fuse_epilogue", "lower", "choose", "pack"})
    EXPECT_EQ(stages.count(stage), 1u) << stage;
}

// Every tactic of a layer is logged: the one that was chosen, and the others with their times or why they are out.
TEST(Build, TheLogHasWhatWasNotChosenToo) {
  struct Lines final : Log {
    bool wants(LogLevel) const override { return true; }
    void write(LogLevel, const std::string& line) const override { all.push_back(line); }
    mutable std::vector<std::string> all;
  } log;
  const auto graph = chain_of_convolutions(1);
  ASSERT_TRUE(graph.ok()) << graph.status().to_string();
  BuildServices services;
  services.log = &log;
  const Result<BuildOutput> built = build_program(**graph, untimed(), services);
  ASSERT_TRUE(built.ok()) << built.status().to_string();
  const auto count = [&](const char* text) {
    return std::ranges::count_if(log.all, [&](const std::string& l) { return l.find(text) != std::string::npos; });
  };
  ptrdiff_t others = 0, chosen = 0;
  for (const StepReport& step : built->report.choice.steps) {
    chosen += step.chosen >= 0 ? 1 : 0;
    others += step.chosen >= 0 ? static_cast<ptrdiff_t>(step.evaluated.size()) - 1 : 0;
  }
  EXPECT_GT(others, 0);
  EXPECT_EQ(count(" tactics, "), chosen);
  EXPECT_EQ(count("': not "), others);
}

TEST(Build, ADumpThatCannotBeWrittenEndsTheBuild) {
  const auto graph = chain_of_convolutions(1);
  ASSERT_TRUE(graph.ok()) << graph.status().to_string();
  BuildSettings settings = untimed();
  settings.dump_stages = "/dev/null/nowhere";
  EXPECT_EQ(build_program(**graph, settings).status().code(), Code::kIo);
}

}  // namespace
}  // namespace wootz
