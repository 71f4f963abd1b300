// What trtexec prints of the times, and writes to a file.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/json.h"
#include "exec.h"
#include "files.h"

namespace wootz_cli {
namespace {

using Part = double (*)(const Query&);

double total(const Trace& trace, Part part) {
  double sum = 0;
  for (const Query& q : trace.queries) sum += part(q);
  return sum;
}

double latency_of(const Query& q) { return q.latency(); }
double compute_of(const Query& q) { return q.compute.ms(); }
double enqueue_of(const Query& q) { return q.enqueue.ms(); }
double h2d_of(const Query& q) { return q.h2d.ms(); }
double d2h_of(const Query& q) { return q.d2h.ms(); }

void print_row(const char* what, const Trace& trace, Part part, const std::vector<double>& percentiles) {
  std::vector<double> sorted;
  for (const Query& q : trace.queries) sorted.push_back(part(q));
  std::sort(sorted.begin(), sorted.end());
  std::printf("[I] %s: min = %g ms, max = %g ms, mean = %g ms, median = %g ms", what, sorted.front(), sorted.back(),
              total(trace, part) / static_cast<double>(sorted.size()), percentile(sorted, 50));
  for (double p : percentiles) std::printf(", percentile(%g%%) = %g ms", p, percentile(sorted, p));
  std::printf("\n");
}

void print_averages(const Trace& trace, int runs) {
  std::printf("[I] === Trace details ===\n[I] Trace averages of %d runs:\n", runs);
  const auto each = static_cast<size_t>(runs);
  for (size_t first = 0; first + each <= trace.queries.size(); first += each) {
    Trace group;
    group.queries.assign(trace.queries.begin() + static_cast<ptrdiff_t>(first),
                         trace.queries.begin() + static_cast<ptrdiff_t>(first + each));
    std::printf("[I] Average on %d runs - GPU latency: %g ms - Host latency: %g ms (enqueue %g ms)\n", runs,
                total(group, compute_of) / runs, total(group, latency_of) / runs, total(group, enqueue_of) / runs);
  }
}

double median(const Trace& trace, Part part) {
  std::vector<double> sorted;
  for (const Query& q : trace.queries) sorted.push_back(part(q));
  std::sort(sorted.begin(), sorted.end());
  return percentile(sorted, 50);
}

// What makes the figures say less than they seem to.
void print_warnings(const Trace& trace, const Exec& exec) {
  const auto count = static_cast<double>(trace.queries.size());
  const double mean = total(trace, compute_of) / count;
  double squares = 0;
  for (const Query& q : trace.queries) squares += (q.compute.ms() - mean) * (q.compute.ms() - mean);
  const double variation = mean > 0 ? std::sqrt(squares / count) / mean * 100 : 0;
  constexpr double kEnqueueBound = 0.8, kUnstable = 2.5;
  const double compute = median(trace, compute_of);
  if (trace.on_device && median(trace, enqueue_of) > kEnqueueBound * compute)
    std::printf(
        "[W] * Throughput may be bound by the host: enqueueing takes %g ms of the %g ms that an inference takes. "
        "--infStreams and larger shapes help\n",
        median(trace, enqueue_of), compute);
  if (trace.on_device && exec.timing.transfers && (median(trace, h2d_of) > compute || median(trace, d2h_of) > compute))
    std::printf(
        "[W] * Throughput may be bound by transfers: copying takes longer than computing. --noDataTransfers leaves "
        "them "
        "out\n");
  if (variation > kUnstable)
    std::printf(
        "[W] * GPU compute time is unstable, with coefficient of variance = %g%%. Fix the clocks, or close what else "
        "runs "
        "here\n",
        variation);
}

void print_explanations(const Trace& trace) {
  std::printf("[I] === Explanations of the performance metrics ===\n");
  static constexpr const char* kLines[] = {
      "Total Host Walltime: from the start of the first query after warming up to the end of the last.",
      "GPU Compute Time: from the first kernel of a query to the last, by the device's clock.",
      "Total GPU Compute Time: the sum over all queries. Where it is much less than Total Host Walltime, the device "
      "waited: for the host, or for transfers.",
      "Throughput: queries by Total Host Walltime.",
      "Enqueue Time: what the host takes to enqueue a query.",
      "H2D Latency, D2H Latency: copying the inputs to the device, and the outputs back.",
      "Latency: H2D Latency + GPU Compute Time + D2H Latency of a query."};
  for (const char* line : kLines) std::printf("[I] %s\n", line);
  if (!trace.on_device)
    std::printf(
        "[I] Of a CPU engine: GPU Compute Time is the processor's, by the host's clock, and the same as Enqueue Time; "
        "nothing is transferred.\n");
}

}  // namespace

void print_trace(const Trace& trace, const Exec& exec) {
  const double wall = trace.wall_ms();
  std::printf("[I] Warmup completed %zu queries over %g ms\n[I] Timing trace has %zu queries over %g s\n",
              trace.warmups, exec.timing.warmup_ms, trace.queries.size(), wall * 1e-3);
  print_averages(trace, exec.avg_runs);
  std::printf("[I] === Performance summary ===\n[I] Throughput: %g qps\n",
              static_cast<double>(trace.queries.size()) * 1e3 / wall);
  static constexpr std::pair<const char*, Part> kRows[] = {{"Latency", latency_of},
                                                           {"Enqueue Time", enqueue_of},
                                                           {"H2D Latency", h2d_of},
                                                           {"GPU Compute Time", compute_of},
                                                           {"D2H Latency", d2h_of}};
  for (const auto& [name, part] : kRows) print_row(name, trace, part, exec.percentiles);
  std::printf("[I] Total Host Walltime: %g s\n[I] Total GPU Compute Time: %g s\n", wall * 1e-3,
              total(trace, compute_of) * 1e-3);
  print_warnings(trace, exec);
  print_explanations(trace);
}

void export_trace(const Trace& trace, const std::string& path) {
  wootz::SortedJson rows = wootz::SortedJson::array();
  for (const Query& q : trace.queries)
    rows.push_back({{"startEnqMs", q.enqueue.start},
                    {"endEnqMs", q.enqueue.end},
                    {"startH2dMs", q.h2d.start},
                    {"endH2dMs", q.h2d.end},
                    {"startComputeMs", q.compute.start},
                    {"endComputeMs", q.compute.end},
                    {"startD2hMs", q.d2h.start},
                    {"endD2hMs", q.d2h.end},
                    {"h2dMs", q.h2d.ms()},
                    {"computeMs", q.compute.ms()},
                    {"d2hMs", q.d2h.ms()},
                    {"latencyMs", q.latency()}});
  const std::string text = rows.dump(1);
  write_file(path, text.data(), text.size());
}

}  // namespace wootz_cli
