#include "kernels/library.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "base/testing.h"
#include "kernels/graph_cases.h"
#include "kernels/problem_files.h"
#include "kernels/reformats.h"
#include "ops/cases.h"
#include "ops/infer.h"
#include "random_graphs/generate.h"

namespace wootz::kernels {
namespace {

constexpr uint64_t kRandomGraphs = 100;

class Collector {
 public:
  Collector(const char* backend, Library* library) : backend_(backend), library_(library) {}

  // As it is, and then as the passes leave it.
  void add(GraphSource source) {
    take(source);
    source.name += " optimized";
    const Status passed = optimize(*source.graph, backend_);
    if (!passed.ok()) return note(source, passed);
    take(source);
  }
  void add_written(const Result<std::vector<WrittenProblem>>& written, uint64_t seed, bool always) {
    if (!written.ok()) return library_->trouble.push_back(written.status().to_string());
    for (const WrittenProblem& p : *written) {
      if (p.bench) continue;
      Result<std::vector<HostTensor>> inputs = random_inputs(*p.graph, seed++);
      if (inputs.ok())
        add({p.name, p.graph, std::move(inputs).value(), 0, 1, always, p.races});
      else
        library_->trouble.push_back(p.name + ": " + inputs.status().to_string());
    }
  }

 private:
  void take(const GraphSource& source) {
    const Result<Taken> taken = add_steps(source, backend_, &library_->cases);
    if (!taken.ok()) return note(source, taken.status());
    library_->steps += taken->steps;
    library_->left += taken->left;
  }
  void note(const GraphSource& source, const Status& status) {
    library_->trouble.push_back(source.name + ": " + status.to_string());
  }

  const char* backend_;
  Library* library_;
};

void collect(const char* backend, Library* library) {
  Collector collector(backend, library);
  const uint64_t seed = test_seed();
  collector.add_written(read_problems(problems_folder()), seed, true);
  collector.add_written(read_pass_graphs(), seed, false);
  for (OpCase& c : all_cases(seed)) {
    const Status inferred = infer_graph(*c.graph);
    if (inferred.ok())
      collector.add({c.name, c.graph, std::move(c.inputs), c.tolerance, c.reduction});
    else
      library->trouble.push_back(c.name + ": " + inferred.to_string());
  }
  for (uint64_t s = seed; s < seed + kRandomGraphs; ++s) {
    random_graphs::Sample sample = random_graphs::generate(s, 8 + static_cast<int>(s % 24));
    collector.add({fmt::format("random graph of seed {}", s), sample.graph, std::move(sample.inputs)});
  }
  add_reformats(seed, &library->cases);
}

// What a kernel may treat in its own way: everything but the extents, of which it matters how many there are, and
// whether they are nothing or one.
std::string kind_of(const Problem& problem) {
  std::string key;
  append_params(problem.params, &key);
  const auto add = [&](const TensorDesc& t) {
    key += fmt::format(" {}{}{}", dtype_name(t.dtype), layout_name(t.layout),
                       t.constant    ? "c"
                       : t.dynamic() ? "d"
                                     : "");
    for (const int64_t d : t.dims) key += d == 0 ? '0' : d == 1 ? '1' : 'n';
  };
  for (const TensorDesc& t : problem.inputs) add(t);
  for (const TensorDesc& t : problem.outputs) add(t);
  for (const PwInstr& i : problem.epilogue.code) key += fmt::format(" {}", static_cast<int>(i.op));
  return key;
}

}  // namespace

const Library& library(const char* backend) {
  static std::map<std::string, Library> made;
  const auto [at, added] = made.try_emplace(backend);
  if (added) collect(backend, &at->second);
  return at->second;
}

std::vector<const KernelCase*> cases_of(const Library& library, Family family) {
  std::vector<const KernelCase*> chosen, first, rest;
  std::set<std::string> kinds;
  for (const KernelCase& c : library.cases.cases()) {
    if (c.problem.family() != family) continue;
    const bool is_new = kinds.insert(kind_of(c.problem)).second;
    (c.written ? chosen : is_new ? first : rest).push_back(&c);
  }
  std::mt19937_64 rng(test_seed());
  std::shuffle(first.begin(), first.end(), rng);
  chosen.insert(chosen.end(), first.begin(), first.end());
  chosen.insert(chosen.end(), rest.begin(), rest.end());
  return chosen;
}

}  // namespace wootz::kernels
