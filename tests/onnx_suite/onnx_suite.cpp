// Runs ONNX's backend test suite against the importer and the reference interpreter, without Python.
//
//   .venv/bin/python tests/onnx_suite/export.py SUITE        once: writes the tests as files
//   ninja -C build/release onnx_suite
//   build/release/bin/onnx_suite SUITE                       prints what does not pass, and why; last line: the counts
//   build/release/bin/onnx_suite SUITE resize pool           only tests whose name has one of these words
//   build/release/bin/onnx_suite SUITE --op Resize           only tests with that op in the graph
//
//   --kind K    only that kind (node, simple, pytorch-converted, pytorch-operator, real)
//   --failed, --unsupported, --passed   list only these (default: failed and unsupported)
//   --reasons   group what does not pass by reason instead of listing it
//   --ops       one line an op: tests passed of all that have it as their subject
//   --json FILE the verdict of each test
//   --min N     exit status 1 when fewer than N pass (default 0)
//
// SUITE may also come from the environment variable WOOTZ_ONNX_SUITE. Each test runs in a process of its own, so a
// crash or a hang costs one test. "C" counts among the passed: shape-like inputs were given as constants.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>

#include "base/json.h"
#include "onnx_suite/case_runner.h"

namespace wootz::onnx_suite {
namespace {

constexpr unsigned kSecondsPerTest = 60;

struct Options {
  std::string suite;
  std::vector<std::string> words, ops, kinds;
  std::string list, json;
  bool reasons = false, by_op = false;
  long min = 0;
};

bool parse_options(int argc, char** argv, Options* options) {
  if (const char* suite = std::getenv("WOOTZ_ONNX_SUITE")) options->suite = suite;
  bool positional = options->suite.empty();
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const char* next = i + 1 < argc ? argv[i + 1] : nullptr;
    const bool takes = arg == "--kind" || arg == "--op" || arg == "--json" || arg == "--min";
    if (takes && next == nullptr) return false;
    if (takes) ++i;
    if (arg == "--kind")
      options->kinds.emplace_back(next);
    else if (arg == "--op")
      options->ops.emplace_back(next);
    else if (arg == "--json")
      options->json = next;
    else if (arg == "--min")
      options->min = std::atol(next);
    else if (arg == "--failed")
      options->list += 'F';
    else if (arg == "--unsupported")
      options->list += 'U';
    else if (arg == "--passed")
      options->list += "PC";
    else if (arg == "--reasons")
      options->reasons = true;
    else if (arg == "--ops")
      options->by_op = true;
    else if (arg.starts_with("--"))
      return false;
    else if (positional || i == 1)
      options->suite = arg, positional = false;
    else
      options->words.push_back(arg);
  }
  if (options->list.empty()) options->list = "FU";
  return !options->suite.empty();
}

std::vector<Case> read_index(const std::string& path) {
  std::vector<Case> cases;
  std::ifstream in(path);
  const wootz::SortedJson index = wootz::SortedJson::parse(in, nullptr, false);
  if (index.is_discarded()) return cases;
  const auto items = [](const wootz::SortedJson& list) {
    std::vector<Item> out;
    for (const auto& item : list) out.push_back({item["name"], item["file"], item["proto"]});
    return out;
  };
  for (const auto& test : index["tests"]) {
    Case made{test["name"], test["kind"], test["model"], test["rtol"], test["atol"], test["ops"], {}};
    for (const auto& set : test["sets"]) made.sets.push_back({items(set["inputs"]), items(set["outputs"])});
    cases.push_back(std::move(made));
  }
  return cases;
}

bool wanted(const Case& test, const Options& options) {
  const auto any = [](const std::vector<std::string>& list, auto&& matches) {
    return list.empty() || std::any_of(list.begin(), list.end(), matches);
  };
  return any(options.kinds, [&](const std::string& k) { return test.kind == k; }) &&
         any(options.words, [&](const std::string& w) { return test.name.find(w) != std::string::npos; }) &&
         any(options.ops, [&](const std::string& o) { return std::count(test.ops.begin(), test.ops.end(), o) > 0; });
}

// In a child process: one byte of verdict and the reason come back through a pipe.
Outcome run_apart(const Case& test, const std::string& root) {
  int ends[2];
  if (::pipe(ends) != 0) return {Verdict::kFailed, "pipe failed"};
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    ::alarm(kSecondsPerTest);
    const Outcome outcome = run_case(test, root);
    const std::string text = static_cast<char>(outcome.verdict) + outcome.reason.substr(0, 4000);
    const ssize_t written = ::write(ends[1], text.data(), text.size());
    ::_exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(n));
  ::close(ends[0]);
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return {Verdict::kFailed, "no process"};
  if (WIFSIGNALED(status))
    return {Verdict::kFailed, WTERMSIG(status) == SIGALRM ? fmt::format("no result after {} s", kSecondsPerTest)
                                                          : fmt::format("CRASH: {}", strsignal(WTERMSIG(status)))};
  if (text.empty() || status != 0) return {Verdict::kFailed, fmt::format("exit status {}", WEXITSTATUS(status))};
  return {static_cast<Verdict>(text[0]), text.substr(1)};
}

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPassed: return "passed";
    case Verdict::kPassedAsConstants: return "passed (C)";
    case Verdict::kFailed: return "FAILED";
    case Verdict::kUnsupported: return "unsupported";
  }
  return "?";
}

// The reason without the place, so that equal causes group.
std::string cause(const std::string& reason) {
  const size_t at = reason.find("): ");
  return at == std::string::npos ? reason : reason.substr(at + 3, reason.find("; ", at) - at - 3);
}

// "test_resize_downsample" is about the op whose name it starts with, the longest that fits.
std::string subject(const Case& test) {
  std::string best = test.ops.empty() ? "" : test.ops[0];
  size_t length = 0;
  for (const std::string& op : test.ops) {
    std::string lower;
    for (const char c : op) lower += static_cast<char>(std::tolower(c));
    std::string name;
    for (const char c : test.name.substr(std::min<size_t>(5, test.name.size())))
      if (c != '_') name += c;
    if (name.starts_with(lower) && lower.size() > length) best = op, length = lower.size();
  }
  return best;
}

int run(const Options& options) {
  const std::string root = options.suite + "/";
  const std::vector<Case> cases = read_index(root + "index.json");
  if (cases.empty()) {
    std::fprintf(stderr, "no tests in %sindex.json: run tests/onnx_suite/export.py %s\n", root.c_str(),
                 options.suite.c_str());
    return 2;
  }
  std::map<Verdict, int> counts;
  std::map<std::string, std::vector<std::string>> reasons;
  std::map<std::string, std::pair<int, int>> ops;
  wootz::SortedJson results = wootz::SortedJson::object();
  for (const Case& test : cases) {
    if (!wanted(test, options)) continue;
    const Outcome outcome = run_apart(test, root);
    ++counts[outcome.verdict];
    const bool passed = outcome.verdict == Verdict::kPassed || outcome.verdict == Verdict::kPassedAsConstants;
    auto& [good, all] = ops[subject(test)];
    good += passed;
    ++all;
    results[test.kind + "/" + test.name] = {{"verdict", verdict_name(outcome.verdict)}, {"reason", outcome.reason}};
    if (!passed) reasons[cause(outcome.reason)].push_back(test.name);
    if (options.reasons || options.by_op || options.list.find(static_cast<char>(outcome.verdict)) == std::string::npos)
      continue;
    std::printf("%s %s: %s\n", verdict_name(outcome.verdict), test.name.c_str(), outcome.reason.c_str());
  }
  if (options.reasons) {
    std::vector<std::pair<std::string, std::vector<std::string>>> sorted(reasons.begin(), reasons.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
    for (const auto& [reason, names] : sorted)
      std::printf("%5zu  %s   (%s)\n", names.size(), reason.c_str(), names[0].c_str());
  }
  if (options.by_op)
    for (const auto& [op, count] : ops) std::printf("%-28s %d of %d\n", op.c_str(), count.first, count.second);
  if (!options.json.empty()) std::ofstream(options.json) << results.dump(1) << "\n";
  const int passed = counts[Verdict::kPassed] + counts[Verdict::kPassedAsConstants];
  std::printf("%d passed (%d with inputs as constants), %d failed, %d unsupported\n", passed,
              counts[Verdict::kPassedAsConstants], counts[Verdict::kFailed], counts[Verdict::kUnsupported]);
  return passed < options.min ? 1 : 0;
}

}  // namespace
}  // namespace wootz::onnx_suite

int main(int argc, char** argv) {
  wootz::onnx_suite::Options options;
  if (!wootz::onnx_suite::parse_options(argc, argv, &options)) {
    std::fprintf(stderr,
                 "usage: onnx_suite SUITE [WORD...] [--op OP] [--kind K] [--failed|--unsupported|--passed] "
                 "[--reasons] [--ops] [--json FILE] [--min N]\n");
    return 2;
  }
  return wootz::onnx_suite::run(options);
}
