#include "conformance/fallbacks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/cpu_info.h"

namespace wootz::conformance {
namespace {

constexpr const char* kFile = "tests/conformance/fallbacks.txt";
constexpr size_t kShown = 12;  // names in a message

std::string shown(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kShown ? fmt::format("{} and {} more", text, names.size() - kShown) : text;
}

}  // namespace

bool matches(const std::string& pattern, const std::string& name) {
  size_t p = 0, n = 0, star = std::string::npos, from = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p, ++n;
    } else if (star != std::string::npos) {
      p = star + 1;
      n = ++from;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string::npos;
}

std::vector<FallbackLine> parse_fallbacks(const std::string& text, std::vector<std::string>* errors) {
  std::vector<FallbackLine> lines;
  std::istringstream in(text);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.find_first_not_of(" \t") == std::string::npos || line[0] == '#') continue;
    const size_t colon = line.find(": ");
    std::istringstream words(line.substr(0, colon));
    FallbackLine entry{number, "", "", colon == std::string::npos ? "" : line.substr(colon + 2)};
    words >> entry.backend;
    const size_t before = lines.size();
    while (words >> entry.pattern) lines.push_back(entry);
    if (entry.reason.empty() || lines.size() == before)
      errors->push_back(fmt::format("{}:{}: not of the form 'BACKEND PATTERN...: REASON'", kFile, number));
  }
  return lines;
}

Fallbacks::Fallbacks(std::string backend, const std::set<std::string>& lacks, const std::vector<FallbackLine>& lines)
    : backend_(std::move(backend)) {
  std::set<std::string> names{backend_};
  for (const std::string& what : lacks) names.insert(backend_ + "@no_" + what);
  for (const FallbackLine& line : lines)
    if (names.count(line.backend) != 0) lines_.push_back(line);
}

void Fallbacks::saw(const std::string& name, const std::vector<std::string>& steps) {
  seen_[name].insert(steps.begin(), steps.end());
}

std::vector<std::string> Fallbacks::problems(bool all) const {
  std::vector<std::string> found;
  std::map<std::string, std::vector<std::string>> lost;  // cases by the steps that no line speaks of
  for (const auto& [name, steps] : seen_) {
    const bool listed = std::any_of(lines_.begin(), lines_.end(), [&, &name = name](const FallbackLine& line) {
      return matches(line.pattern, name);
    });
    if (listed) continue;
    for (const std::string& step : steps) lost[step].push_back(name);
  }
  for (const auto& [step, names] : lost)
    found.push_back(fmt::format(
        "no kernel of {} takes a step '{}' (op and types), in {} cases: {}. Was one lost? If there is to be "
        "none, add a line to {}: '{} {}: why'",
        backend_, step, names.size(), shown(names), kFile, backend_, names[0]));
  for (const FallbackLine& line : lines_) {
    if (!all) break;
    std::vector<std::string> with, without;
    for (const auto& [name, steps] : seen_)
      if (matches(line.pattern, name)) (steps.empty() ? with : without).push_back(name);
    const std::string where = fmt::format("{}:{}", kFile, line.number);
    if (with.empty() && without.empty())
      found.push_back(fmt::format("{}: no case is called '{}': delete that pattern", where, line.pattern));
    else if (without.empty())
      found.push_back(
          fmt::format("{}: kernels of {} compute every case of '{}' now: delete that pattern, or the line if "
                      "it is the only one",
                      where, backend_, line.pattern));
    else if (!with.empty())
      found.push_back(
          fmt::format("{}: kernels of {} compute {} of the cases of '{}' now: {}. Put narrower patterns in "
                      "its place, for: {}",
                      where, backend_, with.size(), line.pattern, shown(with), shown(without)));
  }
  return found;
}

Fallbacks fallbacks_of(const std::string& backend) {
  const char* source = std::getenv("WOOTZ_SOURCE_DIR");
  std::ifstream file(std::string(source == nullptr ? "." : source) + "/" + kFile);
  EXPECT_TRUE(file.good()) << kFile;
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<std::string> errors;
  const std::vector<FallbackLine> lines = parse_fallbacks(text, &errors);
  for (const std::string& error : errors) ADD_FAILURE() << error;
  const CpuInfo& cpu = cpu_info();
  std::set<std::string> lacks;
  if (!cpu.avx512) lacks.insert("avx512");
  if (!cpu.avx512_bf16) lacks.insert("avx512_bf16");
  if (!cpu.avx512_fp16) lacks.insert("avx512_fp16");
  return {backend, lacks, lines};
}

void expect_as_listed(const Fallbacks& fallbacks, bool all) {
  for (const std::string& problem : fallbacks.problems(all)) ADD_FAILURE() << problem;
}

}  // namespace wootz::conformance
