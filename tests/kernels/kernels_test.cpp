// Every line of the backends' kernel tables on all problems of its family that it accepts, against the reference: on
// the processor for each instruction set, and on the GPU, or the emulator where there is none. A line is tested because
// it is in a table; `--gtest_filter='*gemm_f32_tiled*'` runs one. Where each problem is compiled first, which takes
// time, a kernel is given those that are written for it and WOOTZ_KERNEL_PROBLEMS others, drawn by the seed; 0 is all.
// WOOTZ_KERNEL_SHARE=2/6 takes the second sixth of them, for processes beside each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "backends/cuda/cublaslt/fp8.h"
#include "backends/cuda/emulator/emulator.h"
#include "backends/registry.h"
#include "base/testing.h"
#include "conformance/run_graph_on.h"
#include "kernels/library.h"
#include "kernels/lines.h"
#include "kernels/problem_files.h"
#include "kernels/run.h"

namespace wootz::kernels {
namespace {

size_t most_problems(const char* backend) {
  if (backend == std::string("cpu")) return SIZE_MAX;
  constexpr size_t kUsual = 8;
  const char* const text = std::getenv("WOOTZ_KERNEL_PROBLEMS");
  const size_t asked = text == nullptr ? kUsual : std::strtoul(text, nullptr, 10);
  return asked == 0 ? SIZE_MAX : asked;
}

bool is_in_share(const KernelCase& c) {
  const char* const text = std::getenv("WOOTZ_KERNEL_SHARE");
  unsigned share = 1, shares = 1;
  if (text == nullptr || std::sscanf(text, "%u/%u", &share, &shares) != 2 || shares == 0) return true;
  return std::hash<std::string>()(c.name) % shares == share - 1;
}

const std::vector<TimedProblem>& timed(const std::string& backend) {
  static std::map<std::string, std::vector<TimedProblem>> made;
  const auto [at, added] = made.try_emplace(backend);
  if (!added) return at->second;
  const auto written = read_problems(problems_folder());
  Result<std::vector<TimedProblem>> problems =
      written.ok() ? timed_problems(*written, backend.c_str()) : written.status();
  EXPECT_TRUE(problems.ok()) << problems.status().to_string();
  if (problems.ok()) at->second = std::move(problems).value();
  return at->second;
}

// The same of a profile whose optimum has one more along the result's first axis: bound to the case, a kernel has
// extents that it is not tuned for.
Problem tuned_for_more(Problem p) {
  if (p.outputs.empty() || p.outputs[0].dims.rank() == 0) return p;
  const int64_t first = p.outputs[0].dims[0];
  const int rank = p.outputs[0].dims.rank();
  for (std::vector<TensorDesc>* const list : {&p.inputs, &p.outputs})
    for (TensorDesc& t : *list) {
      if (t.constant || t.dims.rank() != rank || t.dims[0] != first) continue;
      t.dims[0] += 1;
      t.max_dims[0] = t.dims[0] + 1;
    }
  return p;
}

class KernelTest : public ::testing::TestWithParam<KernelLine> {
 protected:
  void SetUp() override {
    if (GetParam().backend == std::string("cuda")) {
      const Result<bool> opened = conformance::open_cuda();
      ASSERT_TRUE(opened.ok()) << opened.status().to_string();
    }
    const Result<const Backend*> backend = find_backend(GetParam().backend);
    ASSERT_TRUE(backend.ok()) << backend.status().to_string();
    Result<std::shared_ptr<Device>> device = (*backend)->open();
    ASSERT_TRUE(device.ok()) << device.status().to_string();
    device_ = *device;
    if (device_->host_memory()) return;
    Result<std::unique_ptr<Stream>> stream = device_->create_stream();
    ASSERT_TRUE(stream.ok()) << stream.status().to_string();
    stream_ = std::move(stream).value();
  }

  struct Prepared {
    const KernelCase* c;
    std::string what;
    KernelRun run, in_place;
  };

  Result<KernelRun> prepare(const KernelCase& c, const Candidate& candidate, bool odd) {
    return prepare_as(filled(c.problem, candidate), c, candidate, odd);
  }
  Result<KernelRun> prepare_as(const Problem& p, const KernelCase& c, const Candidate& candidate, bool odd) {
    return KernelRun::prepare(*GetParam().provider, candidate.tactic, p, c, limits_of(GetParam()), *device_,
                              stream_.get(), odd);
  }
  // Half of them, by the seed, with extents that are open, where the kernel takes these.
  Result<KernelRun> prepare_open(const KernelCase& c, const Candidate& candidate) {
    const auto drawn = std::hash<std::string>()(fmt::format("open {} {} {}", test_seed(), GetParam().name(), c.name));
    if (drawn % 2 == 0) {
      Result<KernelRun> run = prepare_as(tuned_for_more(filled(c.problem, candidate)), c, candidate, false);
      if (run.ok()) return run;
    }
    return prepare(c, candidate, false);
  }
  void add(const KernelCase& c, const Candidate& candidate) {
    const Layout layout = candidate.output_layouts.empty() ? Layout::kLinear : candidate.output_layouts[0];
    const std::string what = fmt::format("{} {} of {}: {}", candidate.tactic.to_string(), layout_name(layout), c.name,
                                         c.problem.key().substr(0, 1000));
    // Our kernels on the processor take any address that an element may have; the others what a device allocates.
    const bool odd = !GetParam().library() && device_->host_memory();
    Result<KernelRun> run = device_->host_memory() ? prepare(c, candidate, false) : prepare_open(c, candidate);
    Result<KernelRun> again = prepare(c, candidate, odd);
    ++accepted_;
    if (!run.ok() || !again.ok()) {
      ADD_FAILURE() << what << ": " << (run.ok() ? again : run).status().to_string();
      return;
    }
    prepared_.push_back({&c, what, std::move(run).value(), std::move(again).value()});
  }

  // Tensor cores keep sums of floats of 8 bits in 14 bits of 23, which shows where the results of a row or a column are
  // small, and most where little is left of its sums' terms; a library's GELU is the one by tanh.
  Leniency more_of(const Problem& p) const {
    constexpr double kTf32 = 2e-3;  // operands of 10 bits
    if (GetParam().tf32) return {.tolerance = kTf32};
    const bool short_sums =
        GetParam().library() ? cuda::is_fp8_product(p) : GetParam().short_sums && !device_->host_memory();
    return short_sums ? Leniency{.tolerance = 4 * conformance::kOfFloat8, .noise = 0x1p9} : Leniency{};
  }
  void expect_right(const Prepared& p, KernelRun& run, const char* how) {
    const Status status = run.run();
    ASSERT_TRUE(status.ok()) << how << p.what << ": " << status.to_string();
    const Result<std::vector<HostTensor>> results = run.results();
    ASSERT_TRUE(results.ok()) << how << p.what << ": " << results.status().to_string();
    EXPECT_EQ(disagreement(*p.c, *results, more_of(p.c->problem)), "") << how << p.what;
    EXPECT_EQ(run.overrun(), "") << how << p.what;
  }
  void run_all() {
    for (Prepared& p : prepared_) {
      expect_right(p, p.run, "");
      const Result<bool> shared = p.in_place.share_in_place();
      ASSERT_TRUE(shared.ok()) << p.what;
      if (*shared || device_->host_memory()) expect_right(p, p.in_place, *shared ? "in place: " : "at odd addresses: ");
      if (HasFatalFailure()) return;
    }
    prepared_.clear();
    if (!device_->host_memory()) {
      EXPECT_EQ(cuda::emulator_faults(), "");
    }
  }

  size_t accepted_ = 0;

 private:
  std::shared_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::vector<Prepared> prepared_;
};

// Whether it is one of many that differ by a tile's extents: their names but for these, and how many have the same.
bool is_one_of_many(const KernelLine& line) {
  constexpr int kMany = 6;
  const auto stem = [](const KernelLine& l) { return l.kernel.substr(0, l.kernel.rfind('_')); };
  const auto same = [&](const KernelLine& l) { return l.family == line.family && stem(l) == stem(line); };
  return std::count_if(kernel_lines().begin(), kernel_lines().end(), same) >= kMany;
}

// Most of the emulator's time goes into tiles of products, and among their problems into convolutions that chains
// consist of: a tile computes a half of its problems, and of these convolutions a sixth; others with another seed.
bool is_left_to_others(const KernelLine& line, const KernelCase& c, bool one_of_many) {
  if (!cuda::emulator_in_use() || std::string_view(line.backend) != "cuda" || line.library()) return false;
  const bool of_a_chain =
      line.family == Family::kConv && (c.name.starts_with("chain/") || c.name.starts_with("fuse_bottlenecks/"));
  const size_t share = (one_of_many ? 2 : 1) * (of_a_chain ? 3 : 1);
  return std::hash<std::string>()(fmt::format("{} {} {}", test_seed(), line.name(), c.name)) % share != 0;
}

// Of a kernel's problems those that are marked for it, and two drawn by the seed: what matters are its barriers. Of
// many kernels that differ by a tile's extents every third is searched; others with another seed.
std::vector<std::pair<const KernelCase*, Candidate>> for_races(const KernelLine& line, const Library& all) {
  std::vector<std::pair<const KernelCase*, Candidate>> found;
  const size_t drawn = std::hash<std::string>()(fmt::format("{} {}", test_seed(), line.name()));
  const bool all_are_asked_for = most_problems(line.backend) == SIZE_MAX;
  if (is_one_of_many(line) && drawn % 3 != 0 && !all_are_asked_for) return found;
  for (const KernelCase* c : cases_of(all, line.family))
    for (Candidate& candidate : candidates_of(line, c->problem)) found.emplace_back(c, std::move(candidate));
  const auto size_of = [](const KernelCase& c) {
    int64_t size = 0;
    for (const std::vector<HostTensor>* list : {&c.inputs, &c.expected})
      for (const HostTensor& t : *list) size += t.valid() ? t.volume() : 0;
    return size;
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](const auto& a, const auto& b) { return size_of(*a.first) < size_of(*b.first); });
  // One that is soon done, and one whose sums are longer than a ring of stages, but none of the largest.
  std::mt19937_64 rng(test_seed());
  const size_t half = found.size() / 2, end = found.size() - found.size() / 6;
  if (half == 0) return found;
  const size_t drawn_one = rng() % half, drawn_other = half + rng() % (end - half);
  const auto is_marked = [&](const KernelCase& c) {
    return !c.races.empty() && line.kernel.find(c.races) != std::string::npos;
  };
  std::vector<std::pair<const KernelCase*, Candidate>> chosen;
  for (size_t i = 0; i < found.size(); ++i)
    if (i == drawn_one || i == drawn_other || is_marked(*found[i].first)) chosen.push_back(std::move(found[i]));
  return chosen;
}

TEST_P(KernelTest, AgreesWithTheReference) {
  const KernelLine& line = GetParam();
  WOOTZ_NEEDS_ISA(line.isa == Isa::kNone || usable_isa() >= line.isa, isa_name(line.isa));
  const Library& all = library(line.backend);
  if (cuda::emulator_searches_races() && !line.library() && line.backend == std::string_view("cuda")) {
    for (const auto& [c, candidate] : for_races(line, all)) add(*c, candidate);
    return run_all();
  }
  const size_t most = most_problems(line.backend);
  const bool one_of_many = is_one_of_many(line);
  constexpr size_t kAtOnce = 400;  // prepared before the first runs: what is compiled is compiled together
  size_t before = 0;
  for (int f = 0; f < kFamilyCount; ++f) {
    const auto family = static_cast<Family>(f);
    if (!line.library() && family != line.family) continue;
    size_t taken = 0;
    for (const KernelCase* c : cases_of(all, family)) {
      if (!c->written && taken >= most) break;
      if (accepted_ > 0 && (!is_in_share(*c) || is_left_to_others(line, *c, one_of_many))) continue;
      const std::vector<Candidate> candidates = candidates_of(line, c->problem);
      taken += !c->written && !candidates.empty();
      for (const Candidate& candidate : candidates) add(*c, candidate);
      if (accepted_ - before >= kAtOnce) run_all(), before = accepted_;
      if (HasFatalFailure()) return;
    }
  }
  run_all();
  if (!line.library())
    EXPECT_GT(accepted_, 0u) << line.name() << " accepts no problem of family '" << family_name(line.family)
                             << "': write one that it is for into tests/kernels/problems/" << family_name(line.family)
                             << ".problems";
  std::printf("%s: %zu of problem and layout\n", line.name().c_str(), accepted_);
}

// It is timed, too: kernel_bench has a problem for it.
TEST_P(KernelTest, HasABenchmark) {
  const KernelLine& line = GetParam();
  WOOTZ_NEEDS_ISA(line.isa == Isa::kNone || usable_isa() >= line.isa, isa_name(line.isa));
  if (line.library()) return;
  bool found = false;
  for (const TimedProblem& p : timed(line.backend)) found = found || !candidates_of(line, p.problem).empty();
  EXPECT_TRUE(found) << line.name() << " accepts no problem marked [bench]: write one that it is for into "
                     << "tests/kernels/problems/" << family_name(line.family) << ".problems";
}

std::vector<KernelLine> lines_of(const std::string& backend) {
  std::vector<KernelLine> lines;
  for (const KernelLine& line : kernel_lines())
    if (line.backend == backend) lines.push_back(line);
  return lines;
}
std::string name_of_line(const ::testing::TestParamInfo<KernelLine>& info) { return info.param.name(); }
INSTANTIATE_TEST_SUITE_P(Cpu, KernelTest, ::testing::ValuesIn(lines_of("cpu")), name_of_line);
INSTANTIATE_TEST_SUITE_P(CudaSlow, KernelTest, ::testing::ValuesIn(lines_of("cuda")), name_of_line);

class LibraryTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() == std::string("cuda")) {
      ASSERT_TRUE(conformance::open_cuda().ok());
    }
  }
};

TEST_P(LibraryTest, EveryGraphGivesItsProblems) {
  const Library& all = library(GetParam());
  for (const std::string& trouble : all.trouble) ADD_FAILURE() << trouble;
  std::map<std::string, size_t> families;
  for (const KernelCase& c : all.cases.cases()) ++families[family_name(c.problem.family())];
  std::printf("%s: %zu problems of %zu steps, %zu more have operands that are no values:", GetParam(),
              all.cases.cases().size(), all.steps, all.left);
  for (const auto& [family, count] : families) std::printf(" %s %zu", family.c_str(), count);
  std::printf("\n");
}

// The tables are all there is: nothing else is offered under their providers' names.
TEST_P(LibraryTest, ProvidersOfTablesOfferNothingElse) {
  std::map<const Provider*, std::set<std::string>> tables;
  for (const KernelLine& line : kernel_lines())
    if (!line.library() && line.backend == std::string(GetParam())) tables[line.provider].insert(line.kernel);
  Limits limits;
  limits.threads = 2;
  std::vector<Candidate> offers;
  std::vector<Refusal> refusals;
  for (const auto& [provider, names] : tables)
    for (const KernelCase& c : library(GetParam()).cases.cases())
      if (c.written) provider->tactics(c.problem, limits, &offers, &refusals);
  EXPECT_FALSE(offers.empty());
  for (const auto& [provider, names] : tables)
    for (const Candidate& offer : offers)
      EXPECT_TRUE(offer.tactic.provider != provider->name() || names.count(offer.tactic.kernel) != 0)
          << offer.tactic.to_string() << " is in no kernels.inc";
}

INSTANTIATE_TEST_SUITE_P(Backends, LibraryTest, ::testing::Values("cpu", "cuda"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace wootz::kernels
