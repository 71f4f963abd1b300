// The parts of `wootz exec`: flags, measuring, what is printed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "build_plan.h"
#include "session.h"
#include "timing.h"

namespace wootz_cli {

struct Exec {
  BuildRequest build;
  std::string load_engine, save_engine, shapes, export_times, export_layers, load_inputs;
  std::string refit_model;  // whose weights the engine gets before it runs; empty: none
  bool time_refit = false;
  std::string device;  // a backend, a GPU's number, or empty
  TimingOptions timing;
  int avg_runs = 10;
  std::vector<double> percentiles{90, 95, 99};
  bool skip_inference = false, dump_layers = false, verbose = false;
  std::vector<std::string> given;     // flags on the command line, as the table of remarks has them
  std::vector<std::string> warnings;  // known already: one line each, beginning with the flag
};

// Nothing when help was asked for, which it prints. Usage, CLI::ParseError: wrong usage.
std::optional<Exec> parse_exec(int argc, char** argv);
// What is to be said of flags that do not act on an engine of this kind, each by its name.
std::vector<std::string> remarks_on(const Exec& exec, bool on_gpu);
// "512", "4G", "0.5GiB": bytes; without a unit MiB. Usage names the flag.
size_t parse_size(const std::string& text, const std::string& flag);

// Averages of every so many inferences, then the summary.
void print_trace(const Trace& trace, const Exec& exec);
void export_trace(const Trace& trace, const std::string& path);

}  // namespace wootz_cli
