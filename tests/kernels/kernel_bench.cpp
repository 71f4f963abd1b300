// How fast each kernel of the backends' tables is on the problems of problems/*.problems that are marked [bench],
// beside the libraries' kernels for the same problem.
//
//   build/release/bin/kernel_bench                              all that this machine has
//   build/release/bin/kernel_bench --filter conv --json t.json  of these families, problems or kernels
#include <CLI/CLI.hpp>
#include <fstream>

#include "backend/work.h"
#include "backends/registry.h"
#include "kernels/bench_report.h"
#include "kernels/lines.h"
#include "kernels/problem_files.h"
#include "kernels/run.h"
#include "tuner/measure/device_timer.h"
#include "tuner/measure/run_timer.h"

namespace wootz::kernels {
namespace {

struct Options {
  std::string backend, filter, json, problems = WOOTZ_SOURCE_DIR "/tests/kernels/problems";
  bool list = false;
  double ms = 30;
};

// A device, and the clock that fits it.
struct Bench {
  std::shared_ptr<Device> device;
  std::unique_ptr<DeviceTimer> device_timer;
  RunTimer& timer() const { return device_timer == nullptr ? host_timer() : *device_timer; }
  Stream* stream() const { return device_timer == nullptr ? nullptr : &device_timer->stream(); }
};

Result<Bench> open(const char* name) {
  WOOTZ_ASSIGN_OR_RETURN(const Backend* backend, find_backend(name));
  Bench bench;
  WOOTZ_ASSIGN_OR_RETURN(bench.device, backend->open());
  if (bench.device->host_memory()) return bench;
  WOOTZ_ASSIGN_OR_RETURN(bench.device_timer, DeviceTimer::create(*bench.device));
  return bench;
}

Status measure(const Bench& bench, const KernelLine& line, const Candidate& candidate, const KernelCase& c,
               const Options& options, Measured* m) {
  const DeviceScope current(*bench.device);
  WOOTZ_ASSIGN_OR_RETURN(KernelRun run,
                         KernelRun::prepare(*line.provider, candidate.tactic, filled(c.problem, candidate), c,
                                            limits_of(line), *bench.device, bench.stream()));
  SamplingOptions sampling;
  sampling.total_us = options.ms * 1e3;
  WOOTZ_ASSIGN_OR_RETURN(const Sample sample, sample_run(
                                                  bench.timer(), [&] { return run.run(); }, sampling, 0));
  m->us = sample.median_us;
  m->spread = sample.spread;
  const Work work = work_of(c.problem);
  m->bytes = work.bytes_read + work.bytes_written;
  m->flops = work.flops;
  return Status();
}

bool wanted(const Options& options, const std::string& problem, const std::string& kernel) {
  return options.filter.empty() || problem.find(options.filter) != std::string::npos ||
         kernel.find(options.filter) != std::string::npos;
}

// Every candidate of every line for one problem.
Status run_problem(const Bench& bench, const char* backend, const std::string& name, const Problem& problem,
                   const Options& options, std::vector<Measured>* all) {
  KernelCase c{name, problem, {}, {}};
  std::vector<Measured> rows;
  for (const KernelLine& line : kernel_lines()) {
    if (line.backend != std::string(backend) || (line.isa != Isa::kNone && line.isa > usable_isa())) continue;
    for (const Candidate& candidate : candidates_of(line, problem)) {
      if (!wanted(options, name, candidate.tactic.kernel)) continue;
      const Layout layout = candidate.output_layouts[0];
      Measured m{backend, name, candidate.tactic.kernel, layout_name(layout)};
      m.line = !line.library();
      if (options.list) {
        std::printf("%s %s %s %s\n", backend, name.c_str(), m.kernel.c_str(), m.layout.c_str());
        continue;
      }
      if (c.inputs.empty()) {
        WOOTZ_ASSIGN_OR_RETURN(c.inputs, random_operands(problem, 1));
      }
      const Status status = measure(bench, line, candidate, c, options, &m);
      m.failure = status.ok() ? "" : status.to_string();
      rows.push_back(std::move(m));
    }
  }
  if (!rows.empty()) print(fmt::format("{} {}", backend, name), rows);
  all->insert(all->end(), rows.begin(), rows.end());
  return Status();
}

Status run_backend(const char* backend, const std::vector<WrittenProblem>& problems, const Options& options,
                   std::vector<Measured>* all) {
  WOOTZ_ASSIGN_OR_RETURN(const Bench bench, open(backend));
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<TimedProblem> timed, timed_problems(problems, backend));
  for (const TimedProblem& p : timed)
    WOOTZ_RETURN_IF_ERROR(run_problem(bench, backend, p.name, p.problem, options, all).with_prefix(p.name));
  return Status();
}

int run(const Options& options) {
  Result<std::vector<WrittenProblem>> problems = read_problems(options.problems);
  if (!problems.ok()) {
    std::fprintf(stderr, "%s\n", problems.status().to_string().c_str());
    return 1;
  }
  std::vector<Measured> all;
  int failed = 0;
  for (const char* backend : {"cpu", "cuda"}) {
    if (!options.backend.empty() && options.backend != backend) continue;
    const Status status = run_backend(backend, *problems, options, &all);
    if (status.ok()) continue;
    std::fprintf(stderr, "%s: %s\n", backend, status.to_string().c_str());
    failed |= !options.backend.empty();  // only what was asked for has to be there
  }
  if (!options.json.empty()) std::ofstream(options.json) << to_json(all);
  return failed;
}

}  // namespace
}  // namespace wootz::kernels

int main(int argc, char** argv) {
  wootz::kernels::Options options;
  CLI::App app("Times every kernel on the problems of its family.", "kernel_bench");
  app.add_option("--backend", options.backend, "cpu or cuda; none: those that this machine has");
  app.add_option("--filter", options.filter, "problems and kernels with this in their name");
  app.add_option("--json", options.json, "write the results there as well");
  app.add_option("--problems", options.problems, "folder of the problems")->capture_default_str();
  app.add_option("--ms", options.ms, "time for each kernel and problem")->capture_default_str();
  app.add_flag("--list", options.list, "say what would be timed");
  CLI11_PARSE(app, argc, argv);
  return wootz::kernels::run(options);
}
