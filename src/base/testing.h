// What tests of all layers share: the seed of what they draw, and a word about what this processor cannot run. Only
// tests include it; cmake/test_main.cpp, which every GoogleTest program links, defines it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"

namespace wootz {

// The seed of everything that a test draws: $WOOTZ_SEED, otherwise drawn once for the program. It is printed when it is
// first asked for (a crash shows it too), and a test that fails prints the command that runs it again. A test that
// needs several seeds adds small numbers to it.
uint64_t test_seed();

// Something is not tested since the processor lacks an instruction set: said at the end of the program and, by ./dev
// test, at the end of the run. What only WOOTZ_ISA or ONEDNN_MAX_CPU_ISA take away is tested by another process.
void note_missing_isa(std::string_view isa);

// A log to look at.
class KeptLog final : public Log {
 public:
  void write(LogLevel level, const std::string& line) const override { lines_.emplace_back(level, line); }
  std::vector<std::string> lines(LogLevel level) const {
    std::vector<std::string> found;
    for (const auto& [l, line] : lines_)
      if (l == level) found.push_back(line);
    return found;
  }

 private:
  mutable std::vector<std::pair<LogLevel, std::string>> lines_;
};

}  // namespace wootz

// At the head of a test for one instruction set: skips it on a processor without, and says so.
#define WOOTZ_NEEDS_ISA(has_it, isa)                     \
  do {                                                   \
    if (!(has_it)) {                                     \
      ::wootz::note_missing_isa(isa);                    \
      GTEST_SKIP() << "this processor has no " << (isa); \
    }                                                    \
  } while (false)
