#include "base/testing.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace wootz {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Run by the tests below, in a process of its own.
TEST(Testing, OnPurpose) {
  const char* what = std::getenv("WOOTZ_ON_PURPOSE");
  if (what == nullptr) return;
  if (*what == 'i') WOOTZ_NEEDS_ISA(false, "avx1024");
  EXPECT_NE(test_seed(), 77u);
}

std::string run_again(const std::string& environment) {
  char exe[4096] = {};
  EXPECT_GT(readlink("/proc/self/exe", exe, sizeof(exe) - 1), 0);
  const std::string command =
      "env -u WOOTZ_ISA " + environment + " '" + exe + "' --gtest_filter=Testing.OnPurpose 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  for (int c = 0; pipe != nullptr && (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  if (pipe != nullptr) pclose(pipe);
  return text;
}

TEST(Testing, OneSeedForAProgram) { EXPECT_EQ(test_seed(), test_seed()); }

TEST(Testing, AFailureSaysHowToRunItAgain) {
  const std::string failed = run_again("WOOTZ_ON_PURPOSE=f WOOTZ_SEED=77");
  EXPECT_THAT(failed, HasSubstr("to run it again: WOOTZ_SEED=77 "));
  EXPECT_THAT(failed, HasSubstr("--gtest_filter='Testing.OnPurpose'"));
  const std::string passed = run_again("WOOTZ_ON_PURPOSE=f WOOTZ_SEED=78");
  EXPECT_THAT(passed, HasSubstr("seed: WOOTZ_SEED=78"));
  EXPECT_THAT(passed, Not(HasSubstr("to run it again")));
  EXPECT_THAT(run_again("WOOTZ_ON_PURPOSE=f WOOTZ_SEED=7x"), HasSubstr("WOOTZ_SEED is a whole number, not '7x'"));
}

TEST(Testing, AMissingInstructionSetIsReported) {
  const std::string file = ::testing::TempDir() + "wootz_missing_isa_" + std::to_string(getpid());
  EXPECT_THAT(run_again("WOOTZ_ON_PURPOSE=i WOOTZ_MISSING_ISA_FILE=" + file),
              HasSubstr("NOT TESTED, this processor has no avx1024: Testing.OnPurpose"));
  std::ifstream in(file);
  const std::string reported((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  EXPECT_EQ(reported, "NOT TESTED, this processor has no avx1024: Testing.OnPurpose\n");
  std::remove(file.c_str());
}

}  // namespace
}  // namespace wootz
