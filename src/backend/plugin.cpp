#include "backend/plugin.h"

#include "backend/param_reader.h"
#include "backend/shape_program.h"

namespace wootz {
namespace {

PluginTensor described(const TensorDesc& desc, const IntLists& least, size_t number) {
  PluginTensor t{desc.dtype, desc.layout, desc.dims, desc.dims, desc.dims, desc.max_dims};
  if (number < least.size() && least[number].size() == desc.dims.size())
    for (size_t a = 0; a < least[number].size(); ++a) t.least[a] = least[number][a];
  for (size_t a = 0; a < t.dims.size(); ++a)
    if (t.least[a] != t.most[a]) t.dims[a] = -1;
  return t;
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

namespace {

// Of results with extents that are found by running: what they may be at most, at these extents of the operands.
void bound_results(const PluginParams& params, const std::vector<Dims>& inputs, Dims PluginTensor::*which,
                   PluginTensors* tensors) {
  std::vector<int64_t> sizes(tensors->outputs.size(), -1);
  for (const Ints& words : params.bounds) {
    const Result<int64_t> most = evaluate_extent(std::span(words).subspan(1), inputs, {});
    if (most.ok() && words[0] >= 0 && words[0] < static_cast<int64_t>(sizes.size()))
      sizes[static_cast<size_t>(words[0])] = *most;
  }
  for (const Ints& words : params.extents) {
    const auto output = static_cast<size_t>(words[0]), axis = static_cast<size_t>(words[1]);
    if (output >= sizes.size() || axis >= (tensors->outputs[output].*which).size()) continue;
    const Result<int64_t> value = evaluate_extent(std::span(words).subspan(2), inputs, sizes);
    if (value.ok()) (tensors->outputs[output].*which)[axis] = *value;
  }
}

}  // namespace

PluginTensors plugin_tensors(const Problem& problem, const PluginParams& params) {
  const IntLists& least = params.least;
  PluginTensors tensors;
  for (const TensorDesc& desc : problem.inputs) tensors.inputs.push_back(described(desc, least, tensors.inputs.size()));
  for (const TensorDesc& desc : problem.outputs)
    tensors.outputs.push_back(described(desc, least, tensors.inputs.size() + tensors.outputs.size()));
  for (Dims PluginTensor::*which : {&PluginTensor::opt, &PluginTensor::most}) {
    std::vector<Dims> inputs;
    for (const PluginTensor& t : tensors.inputs) inputs.push_back(t.*which);
    bound_results(params, inputs, which, &tensors);
  }
  return tensors;
}

namespace {

constexpr size_t kMostElements = size_t{1} << 20;  // of one list

void append_list(const Ints& list, std::string* text) {
  *text += '[';
  for (const int64_t v : list) {
    append_integer(v, text);
    *text += ',';
  }
  *text += ']';
}
void append_lists(const IntLists& lists, std::string* text) {
  *text += '[';
  for (const Ints& list : lists) append_list(list, text);
  *text += ']';
}

bool take_list(ParamReader& in, Ints* list) {
  if (!in.accept('[')) return false;
  while (!in.accept(']')) {
    int64_t value = 0;
    if (list->size() >= kMostElements || !in.integer(&value) || !in.accept(',')) return false;
    list->push_back(value);
  }
  return true;
}
bool take_lists(ParamReader& in, IntLists* lists) {
  if (!in.accept('[')) return false;
  while (!in.accept(']'))
    if (lists->size() >= kMostElements || !take_list(in, &lists->emplace_back())) return false;
  return true;
}

constexpr const char* kOp = "Plugin";

}  // namespace

bool is_plugin(const Problem& problem) {
  const auto* op = problem.as_if<OpParams>();
  return op != nullptr && op->op == kOp;
}

void write_plugin(const PluginParams& params, Problem* problem) {
  std::string text;
  for (const std::string* s :
       {&params.name, &params.version, &params.space, &params.layer, &params.timing, &params.data})
    append_quoted(*s, &text);
  append_lists(params.least, &text);
  append_list(params.aliases, &text);
  append_lists(params.bounds, &text);
  append_lists(params.extents, &text);
  problem->params = OpParams{.op = kOp, .node = std::move(text), .own_sizes = !params.extents.empty()};
}

Result<PluginParams> read_plugin(const Problem& problem) {
  if (!is_plugin(problem)) return internal_error("a step that is no plugin's");
  PluginParams params;
  ParamReader in(problem.as<OpParams>().node);
  bool good = true;
  for (std::string* s : {&params.name, &params.version, &params.space, &params.layer, &params.timing, &params.data})
    good = good && in.quoted(s);
  good = good && take_lists(in, &params.least) && take_list(in, &params.aliases) && take_lists(in, &params.bounds) &&
         take_lists(in, &params.extents) && in.at_end();
  for (const Ints& words : params.bounds) good = good && !words.empty();
  for (const Ints& words : params.extents) good = good && words.size() >= 2;
  for (const int64_t operand : params.aliases)
    good = good && operand >= -1 && operand < static_cast<int64_t>(problem.inputs.size());
  good = good && (params.aliases.empty() || params.aliases.size() == problem.outputs.size());
  if (!good) return corrupt("a step's text of its plugin makes no sense");
  return params;
}

std::string plugin_place(const PluginParams& params) {
  return fmt::format("layer '{}': plugin '{}' version '{}' (namespace '{}')", params.layer, params.name, params.version,
                     params.space);
}

Result<std::unique_ptr<KernelState>> attach_kernel(const Kernel& kernel, const ContextServices* services) {
  const auto* stateful = dynamic_cast<const StatefulKernel*>(&kernel);
  return stateful == nullptr ? Result<std::unique_ptr<KernelState>>(nullptr) : stateful->attach(services);
}

std::string to_hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string digits;
  digits.reserve(2 * bytes.size());
  for (const char c : bytes) {
    digits += kDigits[static_cast<uint8_t>(c) >> 4];
    digits += kDigits[static_cast<uint8_t>(c) & 15];
  }
  return digits;
}

Result<std::string> from_hex(std::string_view digits) {
  std::string bytes;
  bytes.reserve(digits.size() / 2);
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    const int high = digit_of(digits[i]), low = digit_of(digits[i + 1]);
    if (high < 0 || low < 0) return corrupt("data of a plugin: no hexadecimal digits at {}", i);
    bytes += static_cast<char>(high * 16 + low);
  }
  if (digits.size() % 2 != 0) return corrupt("data of a plugin: {} digits", digits.size());
  return bytes;
}

Result<int64_t> evaluate_extent(std::span<const int64_t> words, std::span<const Dims> inputs,
                                std::span<const int64_t> sizes) {
  std::vector<int64_t> stack;
  const auto nonsense = [] { return corrupt("an extent of a plugin's result is no expression"); };
  if (words.size() % 2 != 0) return nonsense();
  for (size_t w = 0; w < words.size(); w += 2) {
    const int64_t value = words[w + 1];
    const auto at = static_cast<size_t>(value);
    switch (static_cast<ExtentWord>(words[w])) {
      case ExtentWord::kConst: stack.push_back(value); break;
      case ExtentWord::kExtent: {
        const size_t operand = at / limits::kMaxRank, axis = at % limits::kMaxRank;
        if (value < 0 || operand >= inputs.size() || axis >= inputs[operand].size()) return nonsense();
        stack.push_back(inputs[operand][axis]);
        break;
      }
      case ExtentWord::kSize:
        if (value < 0 || at >= sizes.size() || sizes[at] < 0) return nonsense();
        stack.push_back(sizes[at]);
        break;
      case ExtentWord::kOperator: {
        if (stack.size() < 2 || value < 0 || value > static_cast<int64_t>(ShapeOp::kMax)) return nonsense();
        const int64_t b = stack.back();
        stack.pop_back();
        if (!apply_shape_op(static_cast<ShapeOp>(value), stack.back(), b, &stack.back()))
          return invalid_argument("an extent of a plugin's result overflows, or is divided by zero");
        break;
      }
      default: return nonsense();
    }
  }
  if (stack.size() != 1) return nonsense();
  return stack[0];
}

}  // namespace wootz
