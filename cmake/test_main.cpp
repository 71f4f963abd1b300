// main() of every GoogleTest program, and what base/testing.h declares. Tests find their data under $WOOTZ_SOURCE_DIR,
// which is set here unless the caller did: the path stands in this one object only, so that compiled tests can be
// shared between checkouts by ccache.
// A test that does not say a backend means the processor, also on machines where builds go to a GPU by themselves.
#include <gmock/gmock.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>

#include "base/testing.h"

namespace wootz {
namespace {

std::string g_program;
std::atomic<bool> g_seed_asked{false};
std::mutex g_missing_mutex;
std::map<std::string, std::set<std::string>> g_missing;  // instruction set to tests

// Says how a failed test is run again, and in the end what the processor could not run.
class Reporter final : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo& test) override {
    if (!test.result()->Failed() || !g_seed_asked) return;
    std::printf("to run it again: WOOTZ_SEED=%llu %s --gtest_filter='%s.%s'\n",
                static_cast<unsigned long long>(test_seed()), g_program.c_str(), test.test_suite_name(), test.name());
    std::fflush(stdout);
  }
  void OnTestProgramEnd(const testing::UnitTest&) override {
    // The file is ./dev test's. A process with a cap is there for what the cap leaves: others run the rest.
    const char* file = std::getenv("WOOTZ_MISSING_ISA_FILE");
    const bool capped = std::getenv("WOOTZ_ISA") != nullptr || std::getenv("ONEDNN_MAX_CPU_ISA") != nullptr;
    for (const auto& [isa, tests] : g_missing) {
      std::string line = "NOT TESTED, " + (capped ? "capped below " + isa : "this processor has no " + isa) + ":";
      for (const std::string& test : tests) line += " " + test;
      std::printf("%s\n", line.c_str());
      if (file != nullptr && !capped) std::ofstream(file, std::ios::app) << line << "\n";
    }
  }
};

}  // namespace

uint64_t test_seed() {
  static const uint64_t seed = [] {
    const char* text = std::getenv("WOOTZ_SEED");
    char* end = nullptr;
    uint64_t value = text == nullptr ? std::random_device{}() : std::strtoull(text, &end, 10);
    if (text != nullptr && (end == text || *end != '\0')) {
      std::fprintf(stderr, "WOOTZ_SEED is a whole number, not '%s'\n", text);
      std::exit(2);
    }
    std::printf("seed: WOOTZ_SEED=%llu\n", static_cast<unsigned long long>(value));
    std::fflush(stdout);
    return value;
  }();
  g_seed_asked = true;
  return seed;
}

void note_missing_isa(std::string_view isa) {
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::lock_guard<std::mutex> lock(g_missing_mutex);
  g_missing[std::string(isa)].insert(test == nullptr ? "?" : std::string(test->test_suite_name()) + "." + test->name());
}

}  // namespace wootz

int main(int argc, char** argv) {
  setenv("WOOTZ_SOURCE_DIR", WOOTZ_SOURCE_DIR, /*overwrite=*/0);
  setenv("WOOTZ_BACKEND", "cpu", /*overwrite=*/0);
  testing::InitGoogleMock(&argc, argv);
  wootz::g_program = argv[0];
  testing::UnitTest::GetInstance()->listeners().Append(new wootz::Reporter);
  return RUN_ALL_TESTS();
}
