#include "kernels/problem_files.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "base/two_of_four.h"
#include "ir/copy.h"
#include "ir/text.h"
#include "kernels/reformats.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "tuner/measure/distinct_updates.h"
#include "tuner/measure/random_data.h"

namespace wootz::kernels {
namespace {

std::string source_root() {
  const char* const root = std::getenv("WOOTZ_SOURCE_DIR");
  return root == nullptr ? "." : root;
}

constexpr std::string_view kHead = "=== ", kBench = "[bench]", kSparse = "[sparse]", kRaces = "[races=";

struct Variable {
  std::string name;
  std::vector<std::string> values;
};
struct Section {
  std::string name, text;
  std::vector<Variable> variables;
  bool bench = false, sparse = false;
  std::string races;
};

Section read_head(const std::string& line) {
  Section section;
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    if (word == kBench) {
      section.bench = true;
    } else if (word == kSparse) {
      section.sparse = true;
    } else if (word.starts_with(kRaces) && word.ends_with(']')) {
      section.races = word.substr(kRaces.size(), word.size() - kRaces.size() - 1);
    } else if (equals == std::string::npos) {
      section.name += (section.name.empty() ? "" : " ") + word;
    } else {
      Variable v{"$" + word.substr(0, equals), {}};
      std::istringstream values(word.substr(equals + 1));
      for (std::string value; std::getline(values, value, '|');) v.values.push_back(value);
      section.variables.push_back(std::move(v));
    }
  }
  return section;
}

std::vector<Section> sections_of(std::istream& file) {
  std::vector<Section> sections;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(kHead, 0) == 0)
      sections.push_back(read_head(line.substr(kHead.size())));
    else if (!sections.empty())
      sections.back().text += line + '\n';
  }
  return sections;
}

// The section for each combination of its variables' values.
std::vector<Section> combinations(const Section& section) {
  std::vector<Section> all{section};
  for (const Variable& v : section.variables) {
    std::vector<Section> next;
    for (const Section& s : all)
      for (const std::string& value : v.values) {
        next.push_back(s);
        next.back().name += "_" + value;
        std::string& text = next.back().text;
        for (size_t at = 0; (at = text.find(v.name, at)) != std::string::npos; at += value.size())
          text.replace(at, v.name.size(), value);
      }
    all = std::move(next);
  }
  return all;
}

bool is_splat(const HostTensor& t) {
  for (int64_t i = 1; i < t.volume(); ++i)
    if (t.get_f64(i) != t.get_f64(0)) return false;
  return t.volume() > 1;
}

Result<HostTensor> drawn(const HostTensor& splat, uint64_t seed) {
  WOOTZ_ASSIGN_OR_RETURN(HostTensor t, HostTensor::allocate(splat.dtype(), splat.dims()));
  const double size = splat.get_f64(0);
  std::mt19937_64 rng(seed);
  for (int64_t i = 0; i < t.volume(); ++i) {
    const double share = static_cast<double>(rng() >> 11) * 0x1p-52 - 1;
    if (t.dtype() == DType::kF8E8M0)
      t.set_f64(i, size * std::exp2(std::floor(share * 3)));  // scales: powers of two
    else if (is_float(t.dtype()))
      t.set_f64(i, share * size);
    else
      t.set_i64(i, static_cast<int64_t>(share * (size + 0.999)));
  }
  return t;
}

Status draw_weights(Graph& graph, uint64_t seed) {
  for (Value* v : graph.constants()) {
    if (!is_splat(v->constant())) continue;
    WOOTZ_ASSIGN_OR_RETURN(HostTensor weights, drawn(v->constant(), seed++));
    Value* const fresh = graph.add_constant("", std::move(weights));
    graph.replace_all_uses(v, fresh);
    graph.erase_value(v);
  }
  return Status();
}

// Weights of convolutions and products with 2:4 zeros, two of each four.
Status make_sparse(Graph& graph, uint64_t seed) {
  for (Node* n = graph.first(); n != nullptr; n = n->next()) {
    const bool conv = n->is("Conv"), product = n->is("MatMul");
    if ((!conv && !product) || n->input(1) == nullptr || !n->input(1)->is_constant()) continue;
    const HostTensor& whole = n->input(1)->constant();
    WOOTZ_ASSIGN_OR_RETURN(HostTensor weights, HostTensor::allocate(whole.dtype(), whole.dims()));
    std::memcpy(weights.mutable_data(), whole.data(), whole.bytes());
    const bool last = product && n->attr_int("trans_b", 0) != 0;
    zero_two_of_four(&weights, conv ? 1 : whole.rank() - (last ? 1 : 2), seed++);
    n->set_input(1, graph.add_constant("", std::move(weights)));
  }
  return Status();
}

Result<WrittenProblem> read(const std::string& family, const Section& section, bool draw) {
  WrittenProblem p;
  p.name = fmt::format("{}/{}", family, section.name);
  p.bench = section.bench;
  p.races = section.races;
  WOOTZ_ASSIGN_OR_RETURN(p.graph, parse_graph(section.text, find_op));
  WOOTZ_RETURN_IF_ERROR(infer_graph(*p.graph));
  if (draw) WOOTZ_RETURN_IF_ERROR(draw_weights(*p.graph, 1));
  if (section.sparse) WOOTZ_RETURN_IF_ERROR(make_sparse(*p.graph, 1));
  return p;
}

constexpr int64_t kSymbolic = 3;  // any extent that is not a number

// Indices that are good along any axis.
int64_t index_bound(const Dims& dims) {
  int64_t bound = 8;
  for (const int64_t d : dims) bound = std::min(bound, std::max<int64_t>(d, 1));
  return bound;
}

}  // namespace

std::string problems_folder() { return source_root() + "/tests/kernels/problems"; }

Result<std::vector<WrittenProblem>> read_problems(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".problems") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<WrittenProblem> all;
  for (const std::filesystem::path& path : files) {
    std::ifstream file(path);
    for (const Section& section : sections_of(file))
      for (const Section& one : combinations(section)) {
        Result<WrittenProblem> p = read(path.stem().string(), one, true);
        if (!p.ok()) return p.status().with_prefix(fmt::format("{}: {}", path.string(), one.name));
        all.push_back(std::move(p).value());
      }
  }
  return all;
}

Result<std::vector<WrittenProblem>> read_pass_graphs() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source_root() + "/src/passes"))
    if (entry.path().extension() == ".test") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<WrittenProblem> all;
  for (const std::filesystem::path& path : files) {
    std::ifstream file(path);
    for (Section& section : sections_of(file)) {
      const size_t end = section.text.find("\n---\n");
      section.text.resize(end == std::string::npos ? section.text.size() : end);
      Result<WrittenProblem> p = read(path.stem().string(), section, false);
      if (!p.ok()) return p.status().with_prefix(fmt::format("{}: {}", path.string(), section.name));
      all.push_back(std::move(p).value());
    }
  }
  return all;
}

Result<std::vector<TimedProblem>> timed_problems(const std::vector<WrittenProblem>& written, const char* backend) {
  std::vector<TimedProblem> timed;
  for (const WrittenProblem& p : written) {
    if (!p.bench) continue;
    const std::vector<Value*> outputs(p.graph->outputs().begin(), p.graph->outputs().end());
    const std::shared_ptr<Graph> copy = copy_part(*p.graph, outputs);
    for (const Value* v : outputs) copy->mark_output(copy_of(*copy, v));
    WOOTZ_RETURN_IF_ERROR(optimize(*copy, backend).with_prefix(p.name));
    Result<std::vector<Problem>> steps = problems_of(*copy, backend);
    if (!steps.ok()) return steps.status().with_prefix(p.name);
    for (size_t s = 0; s < steps->size(); ++s)
      timed.push_back({s == 0 ? p.name : fmt::format("{}#{}", p.name, s), (*steps)[s]});
  }
  for (auto& [name, problem] : bench_reformats()) timed.push_back({name, problem});
  return timed;
}

Result<std::vector<HostTensor>> random_inputs(const Graph& graph, uint64_t seed) {
  // Indices that are good along every axis of what they may index: an integer further behind may be one.
  int64_t bound = 8;
  std::vector<Dims> shapes;
  for (const Value* v : graph.inputs()) {
    Dims& dims = shapes.emplace_back();
    for (const Dim& d : v->shape()) dims.push_back(d.is_const() ? d.value() : kSymbolic);
    if (shapes.size() == 1 || is_float(v->dtype())) bound = std::min(bound, index_bound(dims));
  }
  std::vector<HostTensor> inputs;
  for (size_t i = 0; i < shapes.size(); ++i) {
    WOOTZ_ASSIGN_OR_RETURN(HostTensor t, random_tensor(graph.inputs()[i]->dtype(), shapes[i], seed++, bound));
    inputs.push_back(std::move(t));
  }
  return inputs;
}

Result<std::vector<HostTensor>> random_operands(const Problem& problem, uint64_t seed) {
  std::vector<HostTensor> operands;
  const int64_t bound = problem.inputs.empty() ? 1 : index_bound(problem.inputs[0].dims);
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    const TensorDesc& t = problem.inputs[i];
    operands.emplace_back();
    if (t.dtype == DType::kInvalid) continue;
    WOOTZ_ASSIGN_OR_RETURN(operands.back(), random_operand(problem, i, t.dims, seed++, bound));
  }
  WOOTZ_RETURN_IF_ERROR(make_updates_distinct(problem, &operands));
  return operands;
}

}  // namespace wootz::kernels
