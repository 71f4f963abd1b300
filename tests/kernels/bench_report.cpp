#include "kernels/bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace wootz::kernels {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + '"';
}

}  // namespace

void print(const std::string& problem, std::vector<Measured> rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const Measured& a, const Measured& b) {
    return std::make_pair(!a.failure.empty(), a.us) < std::make_pair(!b.failure.empty(), b.us);
  });
  std::printf("%s\n", problem.c_str());
  for (const Measured& m : rows) {
    const std::string head = fmt::format("  {:<44} {:<14}", m.kernel, m.layout);
    if (!m.failure.empty()) {
      std::printf("%s %s\n", head.c_str(), m.failure.c_str());
      continue;
    }
    const std::string rate = m.flops > 0 ? fmt::format(" {:9.1f} GFLOP/s", m.gflop_per_s()) : "";
    std::printf("%s\n",
                fmt::format("{} {:11.2f} us +-{:4.1f}% {:8.1f} GB/s{}", head, m.us, m.spread * 100, m.gb_per_s(), rate)
                    .c_str());
  }
  std::fflush(stdout);
}

std::string to_json(const std::vector<Measured>& rows) {
  std::string text = "[";
  for (const Measured& m : rows) {
    text += fmt::format("{}\n{{\"backend\":{},\"problem\":{},\"kernel\":{},\"layout\":{},\"table\":{}", text.size() > 1 ? "," : "",
                        quoted(m.backend), quoted(m.problem), quoted(m.kernel), quoted(m.layout), m.line);
    if (m.failure.empty())
      text += fmt::format(",\"us\":{:.4f},\"spread\":{:.4f},\"gb_per_s\":{:.3f},\"gflop_per_s\":{:.3f}}}", m.us, m.spread,
                          m.gb_per_s(), m.gflop_per_s());
    else
      text += fmt::format(",\"failure\":{}}}", quoted(m.failure));
  }
  return text + "\n]\n";
}

}  // namespace wootz::kernels
