#include "backends/cuda/emulator/race_report.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <utility>

namespace wootz::cuda {
namespace {

constexpr size_t kMost = 20;  // that are reported

std::string line_of(const std::string& path, int number) {
  std::ifstream file(path);
  std::string line;
  for (int i = 0; i < number && std::getline(file, line); ++i) continue;
  const size_t first = line.find_first_not_of(' ');
  return first == std::string::npos ? line : line.substr(first);
}

// The functions' lines, the innermost first, as addr2line finds them.
std::string lines_at(const std::string& library, long place) {
  // A return address is after the call.
  const std::string command = fmt::format("addr2line -i -e '{}' {:#x} 2>/dev/null", library, place - 1);
  std::FILE* const from = popen(command.c_str(), "r");
  if (from == nullptr) return "";
  std::string text;
  for (char line[4096]; std::fgets(line, sizeof line, from) != nullptr;) {
    const std::string found = line;
    const size_t colon = found.find(':');
    const int number = colon == std::string::npos ? 0 : std::atoi(found.c_str() + colon + 1);
    const std::string file = found.substr(0, colon == std::string::npos ? 0 : colon);
    const std::string folder = library.substr(0, library.rfind('/') + 1);
    if (number > 0) text += fmt::format("\n      {}", line_of(file.starts_with('/') ? file : folder + file, number));
  }
  pclose(from);
  return text;
}

}  // namespace

void RaceReport::add(const std::string& library, const std::vector<long>& places, const std::string& what) {
  std::string key = library;
  for (const long place : places) key += fmt::format(" {}", place);
  if (!seen_.insert(key).second || seen_.size() > kMost) return;
  text_ += what;
  for (size_t i = 0; i < places.size(); ++i)
    text_ += fmt::format("\n    {}:{}", i == 0 ? "here" : "the other one", lines_at(library, places[i]));
  text_ += "\n";
}

std::string RaceReport::take() {
  seen_.clear();
  return std::exchange(text_, {});
}

}  // namespace wootz::cuda
