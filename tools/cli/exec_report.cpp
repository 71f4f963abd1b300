// What trtexec prints of the times, and writes to a file.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "exec.h"

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
    std::printf("[I] Average on %d runs - %s latency: %g ms - Host latency: %g ms (enqueue %g ms)\n", runs,
                trace.on_device ? "GPU" : "Compute", total(group, compute_of) / runs, total(group, latency_of) / runs,
                total(group, enqueue_of) / runs);
  }
}

}  // namespace

void print_trace(const Trace& trace, const Exec& exec) {
  const double wall = trace.wall_ms();
  std::printf("[I] Warmup completed %zu queries over %g ms\n[I] Timing trace has %zu queries over %g s\n",
              trace.warmups, exec.timing.warmup_ms, trace.queries.size(), wall * 1e-3);
  print_averages(trace, exec.avg_runs);
  std::printf("[I] === Performance summary ===\n[I] Throughput: %g qps\n",
              static_cast<double>(trace.queries.size()) * 1e3 / wall);
  const std::vector<double>& p = exec.percentiles;
  const char* compute = trace.on_device ? "GPU Compute Time" : "Compute Time";
  print_row("Latency", trace, latency_of, p);
  if (trace.on_device) {
    print_row("Enqueue Time", trace, enqueue_of, p);
    print_row(
        "H2D Latency", trace, [](const Query& q) { return q.h2d.ms(); }, p);
    print_row(compute, trace, compute_of, p);
    print_row(
        "D2H Latency", trace, [](const Query& q) { return q.d2h.ms(); }, p);
    if (!exec.timing.transfers) std::printf("[I] Without data transfers: latency is GPU compute time\n");
  } else {
    print_row(compute, trace, compute_of, p);
    std::printf("[I] A CPU engine works on host memory: nothing is transferred, and latency is compute time\n");
  }
  std::printf("[I] Total Host Walltime: %g s\n[I] Total %s: %g s\n", wall * 1e-3, compute,
              total(trace, compute_of) * 1e-3);
}

void export_trace(const Trace& trace, const std::string& path) {
  nlohmann::json rows = nlohmann::json::array();
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
