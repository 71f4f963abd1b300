#include "kernels/lines.h"

#include <algorithm>
#include <ostream>

#include "backends/cpu/kernel_entry.h"
#include "backends/cpu/native_provider.h"
#include "backends/cuda/generate/kernels.h"
#include "backends/cuda/providers.h"
#include "backends/registry.h"

namespace wootz::kernels {
namespace {

constexpr int kThreads = 2;

std::vector<Layout> layouts_of(unsigned schemes) {
  constexpr std::pair<unsigned, Layout> kLayouts[] = {{cpu::kSchemeLinear, Layout::kLinear},
                                                      {cpu::kSchemeChannelsLast, Layout::kChannelsLast},
                                                      {cpu::kSchemeBlocked8, Layout::kBlocked8},
                                                      {cpu::kSchemeBlocked16, Layout::kBlocked16},
                                                      {cpu::kSchemeIntoChannelsLast, Layout::kChannelsLast}};
  std::vector<Layout> layouts;
  for (const auto& [scheme, layout] : kLayouts)
    if ((schemes & scheme) != 0) layouts.push_back(layout);
  return layouts;
}

void add_cpu(std::vector<KernelLine>* lines) {
  const std::pair<const char*, const cpu::KernelEntry*> table[] = {
#define KERNEL(name) {#name, &cpu::name},
#include "backends/cpu/kernels.inc"
#undef KERNEL
  };
  for (const auto& [name, entry] : table)
    for (const Isa isa : {Isa::kAvx2, Isa::kAvx512})
      if (cpu::check_needs(entry->needs, {.isa = isa}).ok())
        lines->push_back({.backend = "cpu",
                          .provider = &cpu::native_provider(),
                          .kernel = fmt::format("{}_{}", name, isa_name(isa)),
                          .family = entry->family,
                          .isa = isa,
                          .layouts = layouts_of(entry->schemes),
                          .all_rows_in = entry->schemes == cpu::kSchemeIntoChannelsLast});
}

void add_cuda(std::vector<KernelLine>* lines) {
  for (const cuda::KernelEntry& entry : cuda::kernel_table()) {
    std::vector<Layout> layouts;
    const bool rows_in = entry.layouts == cuda::Offered::kIntoImages;
    if (entry.layouts != cuda::Offered::kGiven && !rows_in) layouts.push_back(Layout::kLinear);
    const bool or_planes = entry.layouts == cuda::Offered::kOrPlanes;
    if (entry.layouts == cuda::Offered::kImages || rows_in || or_planes) layouts.push_back(Layout::kChannelsLast);
    lines->push_back({.backend = "cuda",
                      .provider = &cuda::generated_provider(),
                      .kernel = entry.name,
                      .family = entry.family,
                      .layouts = std::move(layouts),
                      .rows_in = rows_in,
                      .or_planes = or_planes,
                      .tf32 = entry.tf32,
                      .short_sums = entry.short_sums || entry.family == Family::kBlockGemm});
  }
}

void add_libraries(std::vector<KernelLine>* lines) {
  std::vector<const Provider*> tables;
  for (const KernelLine& line : *lines) tables.push_back(line.provider);
  for (const char* backend : {"cpu", "cuda"}) {
    const Result<const Backend*> found = find_backend(backend);
    if (!found.ok()) continue;
    for (const Provider* provider : (*found)->providers())
      if (std::find(tables.begin(), tables.end(), provider) == tables.end()) lines->push_back({backend, provider, ""});
  }
}

bool shares_bytes(const TensorDesc& t) { return t.dtype != DType::kInvalid && dtype_bits(t.dtype) % 8 != 0; }

// False: the problem cannot be in that layout.
bool fill(Layout layout, Problem* p) {
  const int rank = p->outputs[0].dims.rank();
  if (layout != Layout::kLinear && rank < 3) return false;
  for (std::vector<TensorDesc>* list : {&p->inputs, &p->outputs})
    for (TensorDesc& t : *list) {
      t.layout = !t.constant && t.dims.rank() == rank ? layout : Layout::kLinear;
      if (t.layout != Layout::kLinear && shares_bytes(t)) return false;
    }
  return true;
}

Candidate candidate_of(const KernelLine& line, const Problem& p) {
  Candidate c;
  c.tactic = {line.provider->name(), line.kernel, ""};
  for (const TensorDesc& t : p.inputs) c.input_layouts.push_back(t.layout);
  for (const TensorDesc& t : p.outputs) c.output_layouts.push_back(t.layout);
  return c;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const KernelLine& line) {
  return out << line.backend << " " << line.name();
}

const std::vector<KernelLine>& kernel_lines() {
  static const std::vector<KernelLine> all = [] {
    std::vector<KernelLine> lines;
    add_cpu(&lines);
    add_cuda(&lines);
    add_libraries(&lines);
    return lines;
  }();
  return all;
}

Limits limits_of(const KernelLine& line) {
  Limits limits;
  limits.threads = kThreads;
  if (line.isa == Isa::kAvx2) limits.isa_cap = isa_name(line.isa);
  if (const Result<const Backend*> backend = find_backend(line.backend); backend.ok())
    if (Result<std::shared_ptr<Device>> device = (*backend)->open(); device.ok()) limits.at = *device;
  return limits;
}

std::vector<Candidate> candidates_of(const KernelLine& line, const Problem& problem) {
  std::vector<Candidate> found;
  const Limits limits = limits_of(line);
  if (line.library()) {
    std::vector<Refusal> refusals;
    line.provider->tactics(problem, limits, &found, &refusals);
    return found;
  }
  if (line.family != problem.family() || problem.outputs.empty()) return found;
  const auto ask = [&](const Problem& p) {
    const Candidate candidate = candidate_of(line, p);
    if (line.provider->create(candidate.tactic, p, limits).ok()) found.push_back(candidate);
  };
  if (line.layouts.empty()) ask(problem);
  for (const Layout layout : line.layouts)
    if (Problem p = problem; fill(layout, &p)) {
      if (line.rows_in) p.inputs[0].layout = Layout::kLinear;
      if (line.all_rows_in)
        for (TensorDesc& t : p.inputs) t.layout = Layout::kLinear;
      ask(p);
      if (!line.or_planes || layout != Layout::kChannelsLast || !cuda::makes_planes(p)) continue;
      p.outputs[0].layout = Layout::kLinear;
      ask(p);
    }
  return found;
}

Problem filled(const Problem& problem, const Candidate& candidate) {
  Problem p = problem;
  for (size_t i = 0; i < p.inputs.size(); ++i) p.inputs[i].layout = candidate.input_layouts[i];
  for (size_t o = 0; o < p.outputs.size(); ++o) p.outputs[o].layout = candidate.output_layouts[o];
  return p;
}

}  // namespace wootz::kernels
