#include "kernels/bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/json.h"

namespace wootz::kernels {

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
  wootz::SortedJson all = wootz::SortedJson::array();
  for (const Measured& m : rows) {
    wootz::SortedJson row = {
        {"backend", m.backend}, {"problem", m.problem}, {"kernel", m.kernel}, {"layout", m.layout}, {"table", m.line}};
    if (m.failure.empty()) {
      row["us"] = m.us;
      row["spread"] = m.spread;
      row["gb_per_s"] = m.gb_per_s();
      if (m.flops > 0) row["gflop_per_s"] = m.gflop_per_s();
    } else {
      row["failure"] = m.failure;
    }
    all.push_back(std::move(row));
  }
  return all.dump(1) + "\n";
}

}  // namespace wootz::kernels
