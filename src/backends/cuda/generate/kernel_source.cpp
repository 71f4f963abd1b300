#include "backends/cuda/generate/kernel_source.h"

#include <algorithm>
#include <cmath>

#include "backends/cuda/generate/expression.h"
#include "backends/cuda/generate/kernel_files.h"
#include "backends/cuda/generate/launches.h"

namespace wootz::cuda {
namespace {

constexpr const char *kMapPointer = "const TensorMap*", *kMapArgument = "const __grid_constant__ TensorMap";
constexpr const char* kMapType = "struct alignas(64) TensorMap {\n  u64 opaque[16];\n};\n";

constexpr int64_t kIntEnd = int64_t{1} << 31;

bool differs(const TensorDesc& t, const Dims& bound) { return t.dtype != DType::kInvalid && !(bound == t.dims); }

}  // namespace

bool transient(const Problem& p, const BindArgs& args) {
  const auto open = [](const TensorDesc& t) { return t.dynamic(); };
  if (!p.passing && std::none_of(p.inputs.begin(), p.inputs.end(), open) &&
      std::none_of(p.outputs.begin(), p.outputs.end(), open))
    return false;
  for (size_t i = 0; i < p.inputs.size() && i < args.inputs.size(); ++i)
    if (differs(p.inputs[i], args.inputs[i])) return true;
  for (size_t o = 0; o < p.outputs.size() && o < args.outputs.size(); ++o)
    if (differs(p.outputs[o], args.outputs[o])) return true;
  return false;
}

VectorReads vector_reads(const Problem& p, size_t input, const std::vector<Axis>& axes,
                         const std::vector<std::string>& names, size_t first, std::string_view at) {
  VectorReads reads;
  for (size_t k = first; k < names.size(); ++k) {
    const DType type = p.inputs[input + k - first].dtype;
    const std::string place = fmt::format("p.{0} + {1}.{0}", names[k], at);
    if (axes.empty() || axes.back().strides[k] == 0) {
      reads.lines += fmt::format("  const {} v_{} = w_get(*({}));\n", register_type(type), names[k], place);
      reads.inputs.push_back("v_" + names[k]);
    } else {
      reads.lines += fmt::format("  const Pack<{0}, kVector> v_{1} = *(const Pack<{0}, kVector>*)({2});\n",
                                 storage_type(type), names[k], place);
      reads.inputs.push_back(fmt::format("w_get(v_{}.v[k])", names[k]));
    }
  }
  return reads;
}

KernelSource::KernelSource(std::string_view file, bool arguments) : file_(file), arguments_(arguments) {}

void KernelSource::type(std::string_view name, std::string_view type) {
  types_ += fmt::format("typedef {} {};\n", type, name);
}
void KernelSource::choice(std::string_view name, std::string_view choice) {
  types_ += fmt::format("struct {0};\ntypedef {0} {1};\n", choice, name);
}
void KernelSource::fixed(std::string_view name, int64_t value) {
  types_ += fmt::format("constexpr {} {} = {};\n", std::abs(value) < kIntEnd ? "int" : "s64", name, value);
}
void KernelSource::fixed_real(std::string_view name, double value) {
  const char* const sign = std::signbit(value) ? "-" : "";
  const std::string number = std::isnan(value)   ? "__builtin_nan(\"\")"
                             : std::isinf(value) ? fmt::format("{}__builtin_huge_val()", sign)
                                                 : fmt::format("{:.17g}", value);
  types_ += fmt::format("constexpr double {} = {};\n", name, number);
}

void KernelSource::number(std::string_view name, int64_t value, const char* type) {
  if (type == nullptr) type = value < kIntEnd && value >= -kIntEnd ? "int" : "s64";
  numbers_.push_back({std::string(name), type, value});
}

void KernelSource::argument(std::string_view name, int64_t value) {
  numbers_.push_back({std::string(name), "s64", value, true});
}

void KernelSource::pick(std::string_view declaration, const std::vector<std::string>& values) {
  std::string text = values.empty() ? "0" : "";
  for (size_t k = 0; k < values.size(); ++k)
    text += k + 1 < values.size() ? fmt::format("k == {} ? {} : ", k, values[k]) : values[k];
  code(fmt::format("W_FN {} {{\n  return {};\n}}\n", declaration, text));
}

void KernelSource::list(std::string_view name, const std::vector<int64_t>& values) {
  const bool wide = std::any_of(values.begin(), values.end(), [](int64_t v) { return v >= kIntEnd || v < -kIntEnd; });
  const char* type = wide ? "s64" : "int";
  std::vector<std::string> members;
  for (size_t k = 0; k < values.size(); ++k) {
    const std::string member = fmt::format("{}{}", name, k);
    number(member, values[k], type);
    members.push_back("c." + member);
  }
  pick(fmt::format("{} {}(const Constants& c, int k)", type, name), members);
}

void KernelSource::operand(std::string_view type, std::string_view name, Pointer pointer) {
  operands_.push_back({std::string(type), std::string(name)});
  pointers_.push_back(pointer);
}

void KernelSource::epilogue_operands(const Problem& p, int after) {
  const auto main = static_cast<size_t>(p.num_main);
  for (size_t i = main; i < p.inputs.size(); ++i)
    operand(fmt::format("const {}*", storage_type(p.inputs[i].dtype)), fmt::format("e{}", i - main + 1),
            {false, static_cast<int>(i) + after});
}

void KernelSource::walk(std::string_view type, std::string_view function, const std::vector<Axis>& axes,
                        const std::vector<std::string>& names) {
  const bool wide = walks_wide(axes, names.size());
  const char *integer = wide ? "s64" : "int", *whole = wide ? "u64" : "u32";
  const auto number = [&](const std::string& name, int64_t value) {
    this->number(fmt::format("{}_{}", function, name), value, integer);
    return fmt::format("c.{}_{}", function, name);
  };
  std::string lines, rest = "i", members, values;
  std::vector<std::string> sums(names.size());
  for (size_t i = axes.size(); i-- > 0;) {
    std::string coordinate = rest;
    if (i > 0) {
      const size_t k = axes.size() - 1 - i;
      const std::string extent = number(fmt::format("extent{}", i), axes[i].extent);
      lines += fmt::format("  const {0} r{1} = ({0})({2}) / ({0}){3};\n", whole, k, rest, extent);
      lines += fmt::format("  const {0} c{1} = ({0})({2}) - ({0})r{1} * {3};\n", integer, k, rest, extent);
      coordinate = fmt::format("c{}", k);
      rest = fmt::format("r{}", k);
    }
    for (size_t k = 0; k < names.size(); ++k) {
      const int64_t stride = axes[i].strides[k];
      if (stride == 0) continue;
      sums[k] += fmt::format("{}({})({})", sums[k].empty() ? "" : " + ", integer, coordinate);
      if (stride != 1) sums[k] += fmt::format(" * ({})", number(fmt::format("stride{}_{}", i, names[k]), stride));
    }
  }
  for (size_t k = 0; k < names.size(); ++k) {
    members += fmt::format("{}{}", k == 0 ? fmt::format("  {} ", integer) : ", ", names[k]);
    values += fmt::format("{}{}", k == 0 ? "" : ",\n          ", sums[k].empty() ? "0" : sums[k]);
  }
  code(fmt::format("struct {} {{\n{}}};\n", type, names.empty() ? "" : members + ";\n"));
  code(
      fmt::format("W_FN {} {}(const Constants& c, s64 i) {{\n{}  return {{{}}};\n}}\n", type, function, lines, values));
}

Status KernelSource::epilogue(const Problem& p, DType type, std::string_view parameters,
                              const std::vector<std::string>& offsets) {
  std::vector<std::string> inputs{"f"};
  for (size_t k = 0; k < offsets.size(); ++k) inputs.push_back(fmt::format("w_get(p.e{}[{}])", k + 1, offsets[k]));
  WOOTZ_ASSIGN_OR_RETURN(const ExpressionText text, expression_text(p.epilogue, inputs));
  const char* const names[] = {"epilogue", "second"};
  for (size_t o = 0; o < std::min(text.results.size(), std::size(names)); ++o) {
    const char* stored = storage_type(p.outputs[o].dtype);
    code(fmt::format("W_FN {} {}(const Operands& p, const Constants& c, {} f{}{}) {{\n", stored, names[o],
                     register_type(type), parameters.empty() ? "" : ", ", parameters));
    code(fmt::format("{}  return Put<{}>::to({});\n}}\n", text.lines, stored, text.results[o]));
  }
  return Status();
}

Status KernelSource::results(const PointwiseExpr& expr, std::string_view parameters, const std::string& reads,
                             const std::vector<std::string>& inputs, const ExpressionRules& rules) {
  WOOTZ_ASSIGN_OR_RETURN(const ExpressionText text, expression_text(expr, inputs, rules));
  const bool in_words = rules.in_words && !text.given[0].empty();
  code(
      fmt::format("typedef Pack<{}> Stored;\n"
                  "W_FN Stored results(const Operands& p, const Constants& c, {}) {{\n{}  Pack<{}, kVector> z;\n"
                  "#pragma unroll\n  for (int k = 0; k < kVector; ++k) {{\n{}  z.v[k] = {};\n  }}\n  return {};\n}}\n",
                  in_words ? "u32, kVector / 4" : "Y, kVector", parameters, reads, in_words ? "float" : "Y", text.lines,
                  in_words ? text.given[0] : fmt::format("Put<Y>::to({})", text.results[0]),
                  in_words ? "w_small_words<Y>(z)" : "z"));
  return Status();
}

// 0 and 1 stay in the code, which has another shape for them.
bool KernelSource::Number::is_argument(bool arguments) const {
  return always || (arguments && value != 0 && value != 1);
}

std::string KernelSource::text(bool arguments, const LaunchSize& size) const {
  std::string members, pointers, parameters, given, numbers;
  for (const Operand& o : operands_) {
    const std::string_view pointer = std::string_view(o.type).substr(0, o.type.rfind('*') + 1);
    pointers += fmt::format("  {} {};\n", pointer, o.name);
    const bool map = o.type == kMapPointer;  // itself an argument of the kernel, at whose address it is read
    parameters += fmt::format("{}{} {}", parameters.empty() ? "" : ", ", map ? kMapArgument : o.type, o.name);
    given += fmt::format("{}{}{}", given.empty() ? "" : ", ", map ? "&" : "", o.name);
  }
  for (const Number& n : numbers_) {
    if (!n.is_argument(arguments)) {
      members += fmt::format("  static constexpr {} {} = {};\n", n.type, n.name, n.value);
      continue;
    }
    members += fmt::format("  {} {};\n", n.type, n.name);
    parameters += fmt::format("{}s64 c_{}", parameters.empty() ? "" : ", ", n.name);
    numbers += fmt::format("{}({})c_{}", numbers.empty() ? "" : ", ", n.type, n.name);
  }
  return fmt::format(
      "{}\n// The problem.\n{}struct Operands {{\n{}}};\nstruct Constants {{\n{}}};\n{}\n{}\n"
      "extern \"C\" __global__ void __launch_bounds__({}{}){} wootz_kernel({}) {{\n"
      "  kernel(Operands{{{}}}, Constants{{{}}});\n}}\n",
      prelude(), (views_.empty() ? "" : kMapType) + types_, pointers, members, code_, kernel_text(file_), size.block,
      size.at_once > 0 ? fmt::format(", {}", size.at_once) : "",
      size.cluster > 1 ? fmt::format(" __cluster_dims__(1, 1, {})", size.cluster) : "", parameters, given, numbers);
}

void KernelSource::view(std::string_view name, Pointer pointer, TensorView view) {
  view.pointer = pointers_.size();
  views_.push_back(view);
  operand(kMapPointer, name, pointer);
}

Status KernelSource::finish(int threads, int64_t blocks, std::vector<Launch>* launches, size_t workspace) {
  if (blocks >= kIntEnd) return unsupported("{} blocks", blocks);
  LaunchSize size;
  size.block = static_cast<unsigned>(threads);
  size.grid_x = static_cast<unsigned>(std::max<int64_t>(1, blocks));
  return finish(size, launches, workspace);
}

Status KernelSource::finish(const LaunchSize& size, std::vector<Launch>* launches, size_t workspace) {
  for (const Operand& o : operands_)
    if (o.type.starts_with("const") && o.type.ends_with("__restrict__"))
      return internal_error("{}: '{}' is read, and may not be declared as '{}'", file_, o.name, o.type);
  Launch launch;
  const auto passed = [&](bool arguments) {
    std::vector<int64_t> values;
    for (const Number& n : numbers_)
      if (n.is_argument(arguments)) values.push_back(n.value);
    return values;
  };
  launch.numbers = passed(arguments_);
  const bool fits = pointers_.size() + launch.numbers.size() <= kMostArguments;
  if (!fits) launch.numbers = passed(false);
  launch.source = text(arguments_ && fits, size);
  launch.size = size;
  launch.pointers = pointers_;
  launch.views = views_;
  launch.workspace = workspace;
  launches->push_back(std::move(launch));
  return Status();
}

}  // namespace wootz::cuda
