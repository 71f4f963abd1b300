// What building and loading cost as networks grow: no faster than n log n, without measuring tactics. Times are of the
// processor, not of the clock, so that a busy machine disturbs little.
//
// ./dev bench --scaling sets WOOTZ_SCALING to the sizes ("5000,10000,20000") and prints the whole table.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>

#include "api/build.h"
#include "backend/device.h"
#include "plan/read.h"
#include "plan/verify.h"
#include "plan/write.h"
#include "runtime/engine_core.h"
#include "scaling/networks.h"

namespace wootz::scaling {
namespace {

double cpu_ms() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

struct Cost {
  int nodes = 0;
  size_t steps = 0;
  double infer = 0, passes = 0, lower = 0, choose = 0, pack = 0, build = 0, write = 0, read = 0, load = 0, memory = 0;
  double mib = 0;
};

Status measure(const NetworkKind& kind, int nodes, Cost* cost) {
  const std::shared_ptr<Graph> graph = kind.make(nodes);
  cost->nodes = graph->num_nodes();
  api::BuildOptions options;
  options.measure = false;
  options.threads = 1;
  double at = cpu_ms();
  const auto lap = [&] {
    const double now = cpu_ms(), passed = now - at;
    at = now;
    return passed;
  };
  WOOTZ_ASSIGN_OR_RETURN(api::BuildOutput built, api::build_program(*graph, options));
  cost->build = lap();
  cost->infer = built.report.infer_ms;
  cost->passes = built.report.passes_ms;
  cost->lower = built.report.lower_ms;
  cost->choose = built.report.choose_ms;
  cost->pack = built.report.pack_ms;
  cost->steps = built.program->steps.size();
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<std::byte> file, write_plan(*built.program));
  cost->write = lap();
  WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<const Program> program, read_plan(file));
  cost->read = lap();
  WOOTZ_ASSIGN_OR_RETURN(const Backend* backend, find_backend("cpu"));
  WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<Device> device, backend->open(nullptr));
  EngineOptions engine_options;
  engine_options.threads = 1;
  WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<EngineCore> engine,
                         EngineCore::create(program, device, backend_providers(*backend), engine_options));
  cost->load = lap();
  WOOTZ_RETURN_IF_ERROR(engine->memory_for_profile(0).status());
  cost->memory = lap();
  cost->mib = peak_mib();
  return Status();
}

void print_head() {
  std::printf("%-12s %7s %7s %8s %8s %8s %8s %8s %9s %8s %8s %8s %8s %7s\n", "network", "nodes", "steps", "infer",
              "passes", "lower", "choose", "pack", "build ms", "write", "read", "load", "memory", "MiB");
}

void print(const char* name, const Cost& c) {
  std::printf("%-12s %7d %7zu %8.1f %8.1f %8.1f %8.1f %8.1f %9.1f %8.1f %8.1f %8.1f %8.1f %7.0f\n", name, c.nodes,
              c.steps, c.infer, c.passes, c.lower, c.choose, c.pack, c.build, c.write, c.read, c.load, c.memory, c.mib);
  std::fflush(stdout);
}

std::vector<int> sizes() {
  const char* list = std::getenv("WOOTZ_SCALING");
  std::istringstream words(list != nullptr ? list : "1500,6000");
  std::vector<int> found;
  for (std::string word; std::getline(words, word, ',');) found.push_back(std::max(1, std::atoi(word.c_str())));
  return found;
}

TEST(Scaling, BuildAndLoadGrowNoFasterThanNLogN) {
  print_head();
  const char* only = std::getenv("WOOTZ_SCALING_ONLY");
  for (const NetworkKind& kind : network_kinds()) {
    if (only != nullptr && std::string(only) != kind.name) continue;
    SCOPED_TRACE(kind.name);
    Cost first, last;
    for (const int nodes : sizes()) {
      Cost cost;
      const Status status = measure(kind, nodes, &cost);
      ASSERT_TRUE(status.ok()) << status.to_string();
      print(kind.name, cost);
      (first.nodes == 0 ? first : last) = cost;
      if (nodes >= 20000) {
        EXPECT_LE(cost.build, 5000) << "20,000 nodes";
        EXPECT_LE(cost.mib, 1024) << "20,000 nodes";
      }
    }
    if (last.nodes == 0) continue;
    // n log n, and as much again for caches that no longer hold everything, which a busy machine makes worse (by
    // instructions, growth is linear). Four times the nodes in squared time would be sixteenfold: this allows ten.
    const double n = static_cast<double>(last.nodes) / first.nodes;
    const double allowed = 2.2 * n * std::log2(last.nodes) / std::log2(first.nodes);
    const auto grows = [&](const char* what, double before, double after) {
      EXPECT_LE(after, allowed * std::max(before, 20.0)) << what << ": " << before << " ms, then " << after << " ms";
    };
    grows("build", first.build, last.build);
    grows("write", first.write, last.write);
    grows("read", first.read, last.read);
    grows("load", first.load, last.load);
    grows("memory", first.memory, last.memory);
  }
}

// What occurs often is timed as often as what occurs once.
TEST(Scaling, EachDistinctProblemIsTimedOnce) {
  MeasureStats stats[2];
  for (const int more : {0, 1}) {
    const auto residual = std::find_if(network_kinds().begin(), network_kinds().end(),
                                       [](const NetworkKind& k) { return std::string(k.name) == "residual"; });
    ASSERT_NE(residual, network_kinds().end());
    const std::shared_ptr<Graph> graph = residual->make(more ? 200 : 40);
    api::BuildOptions options;
    options.level = 1;
    options.threads = 1;
    Result<api::BuildOutput> built = api::build_program(*graph, options);
    ASSERT_TRUE(built.ok()) << built.status().to_string();
    stats[more] = built->report.measured;
  }
  EXPECT_GT(stats[0].timed, 0u);
  EXPECT_EQ(stats[0].timed, stats[1].timed);
}

}  // namespace
}  // namespace wootz::scaling
