#include "kernels/problem_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ir/copy.h"
#include "ir/text.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "tuner/random_data.h"

namespace wootz::kernels {
namespace {

constexpr std::string_view kHead = "=== ", kBench = " [bench]";

struct Section {
  std::string name, text;
};
std::vector<Section> sections_of(std::istream& file) {
  std::vector<Section> sections;
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind(kHead, 0) == 0)
      sections.push_back({line.substr(kHead.size()), ""});
    else if (!sections.empty())
      sections.back().text += line + '\n';
  }
  return sections;
}

bool is_splat(const HostTensor& t) {
  if (!is_float(t.dtype()) || t.volume() < 2) return false;
  for (int64_t i = 1; i < t.volume(); ++i)
    if (t.get_f64(i) != t.get_f64(0)) return false;
  return true;
}

Status draw_weights(Graph& graph, uint64_t seed) {
  for (Value* v : graph.constants()) {
    const HostTensor& old = v->constant();
    if (!is_splat(old)) continue;
    const double size = old.get_f64(0);
    WOOTZ_ASSIGN_OR_RETURN(HostTensor drawn, random_tensor(old.dtype(), old.dims(), seed++));
    for (int64_t i = 0; i < drawn.volume(); ++i) drawn.set_f64(i, drawn.get_f64(i) * size);
    Value* const fresh = graph.add_constant("", std::move(drawn));
    graph.replace_all_uses(v, fresh);
    graph.erase_value(v);
  }
  return Status();
}

Result<WrittenProblem> read(const std::string& family, const Section& section) {
  WrittenProblem p;
  std::string_view name = section.name;
  p.bench = name.ends_with(kBench);
  if (p.bench) name.remove_suffix(kBench.size());
  p.name = fmt::format("{}/{}", family, name);
  WOOTZ_ASSIGN_OR_RETURN(p.graph, parse_graph(section.text, find_op));
  WOOTZ_RETURN_IF_ERROR(infer_graph(*p.graph));
  WOOTZ_RETURN_IF_ERROR(draw_weights(*p.graph, 1));
  return p;
}

// Indices that are good along any axis.
int64_t index_bound(const Dims& dims) {
  int64_t bound = 8;
  for (const int64_t d : dims) bound = std::min(bound, std::max<int64_t>(d, 1));
  return bound;
}

}  // namespace

Result<std::vector<WrittenProblem>> read_problems(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".problems") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<WrittenProblem> all;
  for (const std::filesystem::path& path : files) {
    std::ifstream file(path);
    for (const Section& section : sections_of(file)) {
      Result<WrittenProblem> p = read(path.stem().string(), section);
      if (!p.ok()) return p.status().with_prefix(fmt::format("{}: {}", path.string(), section.name));
      all.push_back(std::move(p).value());
    }
  }
  return all;
}

Result<std::vector<Problem>> bench_problems(const WrittenProblem& written, const char* backend) {
  const std::vector<Value*> outputs(written.graph->outputs().begin(), written.graph->outputs().end());
  const std::shared_ptr<Graph> copy = copy_part(*written.graph, outputs);
  for (const Value* v : outputs) copy->mark_output(copy_of(*copy, v));
  WOOTZ_RETURN_IF_ERROR(optimize(*copy, backend));
  return problems_of(*copy, backend);
}

Result<std::vector<HostTensor>> random_inputs(const Graph& graph, uint64_t seed) {
  std::vector<HostTensor> inputs;
  int64_t bound = 1;
  for (const Value* v : graph.inputs()) {
    Dims dims;
    for (const Dim& d : v->shape()) {
      if (!d.is_const()) return unsupported("input {} is of symbolic extents", v->name());
      dims.push_back(d.value());
    }
    if (inputs.empty()) bound = index_bound(dims);
    WOOTZ_ASSIGN_OR_RETURN(HostTensor t, random_tensor(v->dtype(), dims, seed++, bound));
    inputs.push_back(std::move(t));
  }
  return inputs;
}

Result<std::vector<HostTensor>> random_operands(const Problem& problem, uint64_t seed) {
  std::vector<HostTensor> operands;
  const int64_t bound = problem.inputs.empty() ? 1 : index_bound(problem.inputs[0].dims);
  for (const TensorDesc& t : problem.inputs) {
    operands.emplace_back();
    if (t.dtype == DType::kInvalid) continue;
    WOOTZ_ASSIGN_OR_RETURN(operands.back(), random_tensor(t.dtype, t.dims, seed++, bound));
  }
  return operands;
}

}  // namespace wootz::kernels
