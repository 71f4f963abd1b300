// That the file of fallbacks holds a backend to what it says, in both directions.
#include "conformance/fallbacks.h"

#include <gmock/gmock.h>

namespace wootz::conformance {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Fallbacks made(const std::string& text) {
  std::vector<std::string> errors;
  const std::vector<FallbackLine> lines = parse_fallbacks(text, &errors);
  EXPECT_THAT(errors, IsEmpty());
  return {"cpu", {"avx512_fp16"}, lines};
}

TEST(Fallbacks, AreAsListed) {
  Fallbacks f = made(
      "# why\n\ncpu rnn/* cum/sum_?: no kernel\ncuda unary/*: of another backend\n"
      "cpu@no_avx512_fp16 conv/f16: half\ncpu@no_avx2 conv/f32: another processor\n");
  f.saw("rnn/lstm", {"LSTM f32"});
  f.saw("cum/sum_?", {"CumSum f32"});
  f.saw("conv/f16", {"Conv f16 f16"});
  f.saw("conv/f32", {});
  EXPECT_THAT(f.problems(true), IsEmpty());
}

TEST(Fallbacks, ALostKernelIsNamed) {
  Fallbacks f = made("cpu rnn/*: no kernel\n");
  f.saw("rnn/lstm", {"LSTM f32"});
  f.saw("conv/3x3", {"Conv f32 f32"});
  f.saw("conv/5x5", {"Conv f32 f32"});
  EXPECT_THAT(f.problems(true), ElementsAre(AllOf(HasSubstr("'Conv f32 f32'"), HasSubstr("2 cases: conv/3x3, conv/5x5"),
                                                  HasSubstr("'cpu conv/3x3: why'"))));
}

TEST(Fallbacks, ALineThatIsNoLongerNeededIsNamed) {
  Fallbacks f = made("cpu rnn/* signal/*: no kernel\ncpu gone/*: renamed\n");
  f.saw("rnn/lstm", {});
  f.saw("signal/dft", {"DFT f32"});
  f.saw("signal/stft", {});
  EXPECT_THAT(f.problems(true),
              ElementsAre(AllOf(HasSubstr("fallbacks.txt:1:"), HasSubstr("'rnn/*' now: delete that pattern")),
                          AllOf(HasSubstr("fallbacks.txt:1:"), HasSubstr("'signal/*' now: signal/stft."),
                                HasSubstr("for: signal/dft")),
                          AllOf(HasSubstr("fallbacks.txt:2:"), HasSubstr("no case is called 'gone/*'"))));
  EXPECT_THAT(f.problems(false), IsEmpty());
}

TEST(Fallbacks, LinesWithoutAReasonAreRefused) {
  for (const char* text : {"cpu rnn/*\n", "cpu rnn/*:\n", "cpu: why\n", ": why\n"}) {
    std::vector<std::string> errors;
    parse_fallbacks(text, &errors);
    EXPECT_THAT(errors, ElementsAre(HasSubstr("fallbacks.txt:1: not of the form"))) << text;
  }
}

TEST(Fallbacks, Patterns) {
  EXPECT_TRUE(matches("a/*_f32", "a/b_f32_f32"));
  EXPECT_TRUE(matches("*i4*", "cast/i4"));
  EXPECT_TRUE(matches("a/b", "a/b"));
  EXPECT_FALSE(matches("a/b", "a/bc"));
  EXPECT_FALSE(matches("a/*_f32", "a/b_f16"));
  EXPECT_FALSE(matches("", "a"));
}

}  // namespace
}  // namespace wootz::conformance
