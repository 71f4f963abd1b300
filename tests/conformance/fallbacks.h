// The file fallbacks.txt beside this one: which of the ops' cases a backend computes without a kernel, and why. A suite
// tells which did; a kernel that was lost fails, and so does a line that is no longer needed.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace wootz::conformance {

// A line of one backend, "cpu", or of it where the processor lacks something: "cpu@no_avx512_fp16".
struct FallbackLine {
  int number = 0;
  std::string backend, pattern, reason;
};
// A line is "BACKEND PATTERN...: REASON" and gives one entry a pattern, of names of cases with * in them. Comments
// begin with #. Fills `errors` with what is wrong with lines.
std::vector<FallbackLine> parse_fallbacks(const std::string& text, std::vector<std::string>* errors);
bool matches(const std::string& pattern, const std::string& name);

class Fallbacks {
 public:
  // Of all lines those of the backend count, and of what it lacks: "cpu", {"avx512_fp16"}.
  Fallbacks(std::string backend, const std::set<std::string>& lacks, const std::vector<FallbackLine>& lines);
  // Of a case that ran: the steps without a kernel (RunResult::reference_steps).
  void saw(const std::string& name, const std::vector<std::string>& steps);
  // What is wrong, each with what to edit. `all`: every case was seen, so that lines can be found to be out of date.
  std::vector<std::string> problems(bool all) const;

 private:
  std::string backend_;
  std::vector<FallbackLine> lines_;
  std::map<std::string, std::set<std::string>> seen_;  // steps without a kernel, by case
};

// From the file, for this processor; its errors are failures of the test.
Fallbacks fallbacks_of(const std::string& backend);
// Fails with all that is wrong.
void expect_as_listed(const Fallbacks& fallbacks, bool all = true);

}  // namespace wootz::conformance
