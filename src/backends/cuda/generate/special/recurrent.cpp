// LSTM, GRU and RNN. One launch multiplies all inputs by their weights, a warp for each value; then a block for each
// sequence and direction walks the steps, with its state in shared memory.
#include "backend/recurrence.h"
#include "backends/cuda/generate/special/special.h"

namespace wootz::cuda {
namespace {

constexpr int kWarp = 32, kInputBlock = 256, kStepBlock = 1024;

// By RnnFunction: of x, with @ and $ for alpha and beta.
constexpr const char* kForms[] = {"w_relu<float>(x)",    "w_tanh(x)",
                                  "w_sigmoid<float>(x)", "@ * x + $",
                                  "(x < 0 ? @ * x : x)", "(x > @ ? x : 0.0f)",
                                  "@ * w_tanh($ * x)",   "w_clip<float>(@ * x + $, 0.0f, 1.0f)",
                                  "w_elu<float>(x, @)",  "x / (1.0f + w_abs<float>(x))",
                                  "w_softplus<float>(x)"};
static_assert(std::size(kForms) == kRnnFunctions);

std::string number(double v) { return fmt::format("(float){:.17g}", v); }

std::string form_of(const RnnActivation& a) {
  std::string form;
  for (const char* c = kForms[static_cast<size_t>(a.function)]; *c != '\0'; ++c)
    form += *c == '@' ? number(a.alpha) : *c == '$' ? number(a.beta) : std::string(1, *c);
  return form;
}

// part[d, b, t, g] = x[t, b] * w[d, g] + bias.
void write_inputs(const Problem& p, const Recurrence& r, std::vector<Launch>* launches) {
  const char* st = storage_type(p.inputs[0].dtype);
  const int64_t values = r.directions * r.batch * r.steps * r.width();
  const bool bias = has_operand(p, 3);
  Writer w;
  w.raw(prelude());
  w.line(
      "extern \"C\" __global__ void __launch_bounds__({0}) wootz_kernel(float* __restrict__ part, const {1}* "
      "__restrict__ "
      "x, const {1}* __restrict__ f{2}) {{\n  __shared__ float shared[{0}];",
      kInputBlock, st, bias ? fmt::format(", const {}* __restrict__ b", st) : "");
  w.line(
      "  const s64 v0 = (s64)blockIdx.x * {0} + threadIdx.x / {1}; const bool live = v0 < {2}; s64 v = live ? v0 : 0;",
      kInputBlock / kWarp, kWarp, values);
  w.line("  const s64 at = v; const int lane = threadIdx.x % {}, g = (int)(v % {}); v /= {};", kWarp, r.width(),
         r.width());
  w.line("  const s64 t = v % {0}; v /= {0}; const s64 n = v % {1}, d = v / {1};", r.steps, r.batch);
  w.line("  const {}* xp = x + ({}) * {};", st,
         r.batch_first ? fmt::format("n * {} + t", r.steps) : fmt::format("t * {} + n", r.batch), r.inputs);
  w.line("  const {}* fp = f + (d * {} + g) * {};\n  float a = 0;", st, r.width(), r.inputs);
  w.line("  for (int k = lane; k < {}; k += {}) a += w_get(xp[k]) * w_get(fp[k]);", r.inputs, kWarp);
  w.line("  a = w_group<{}, {}, true>(a, shared, Sum());", kInputBlock / kWarp, kWarp);
  w.line("  if (live && lane == 0) part[at] = a{};\n}}",
         bias ? fmt::format(" + w_get(b[d * {} + g])", 2 * r.width()) : "");
  Launch launch;
  launch.source = w.text();
  launch.size.block = kInputBlock;
  launch.size.grid_x = blocks_for(values, kInputBlock / kWarp);
  launch.workspace = static_cast<size_t>(values) * sizeof(float);
  launch.pointers = {kWorkspacePointer, {false, 0}, {false, 1}};
  if (bias) launch.pointers.push_back({false, 3});
  launches->push_back(std::move(launch));
}

// "rows [first, first + count) of r times `from`, plus their bias", into `to`: a warp a row.
void write_recurrent_product(const Problem& p, const Recurrence& r, int64_t first, int64_t count, const char* from,
                             const char* to, Writer* w) {
  w->line("    for (int g0 = {0}; g0 < {1}; g0 += {2}) {{ const int g = g0 + warp; float a = 0;", first, first + count,
          kStepBlock / kWarp);
  w->line("      if (g < {0}) for (int k = lane; k < {1}; k += {2}) a += {3}[k] * w_get(rd[(s64)g * {1} + k]);",
          first + count, r.hidden, kWarp, from);
  w->line("      a = w_group<{}, {}, true>(a, shared, Sum());", kStepBlock / kWarp, kWarp);
  w->line("      if (g < {} && lane == 0) {}[g] = a{};\n    }}\n    __syncthreads();", first + count, to,
          has_operand(p, 3) ? fmt::format(" + w_get(x3[d * {} + {} + g])", 2 * r.width(), r.width()) : "");
}

std::string act(const Recurrence& r, size_t which, const std::string& value) {
  const std::string x =
      r.clip > 0 ? fmt::format("w_clip<float>({}, {}, {})", value, number(-r.clip), number(r.clip)) : value;
  const size_t each = r.each();
  std::string text = fmt::format("act{}({})", which, x);
  if (r.directions == 2 && r.activations[which] != r.activations[which + each])
    text = fmt::format("(d == 0 ? act{}({}) : act{}({}))", which, x, which + each, x);
  return text;
}

void write_cell(const Problem& p, const Recurrence& r, Writer* w) {
  const int64_t n = r.hidden;
  const auto gate = [&](int64_t g) { return fmt::format("px[{} + j] + from[{} + j]", g * n, g * n); };
  const auto peephole = [&](int64_t which, const char* c) {
    return has_operand(p, 7) ? fmt::format(" + w_get(x7[d * {} + {} + j]) * {}", 3 * n, which * n, c) : std::string();
  };
  if (r.kind == RnnKind::kGru) {
    w->line("    for (int j = threadIdx.x; j < {}; j += {}) {{ const float reset = {}; gated[j] = reset{}; }}", n,
            kStepBlock, act(r, 0, gate(1)), r.linear_before_reset ? "" : " * h[j]");
    w->line("    __syncthreads();");
    if (!r.linear_before_reset) write_recurrent_product(p, r, 2 * n, n, "gated", "from", w);
  }
  w->line("    for (int j = threadIdx.x; j < {}; j += {}) {{", n, kStepBlock);
  if (r.kind == RnnKind::kLstm) {
    w->line("      const float input = {};", act(r, 0, gate(0) + peephole(0, "c[j]")));
    w->line("      const float forget = {};",
            r.input_forget ? "1.0f - input" : act(r, 0, gate(2) + peephole(2, "c[j]")));
    w->line("      const float cell = forget * c[j] + input * {};", act(r, 1, gate(3)));
    w->line("      const float output = {};", act(r, 0, gate(1) + peephole(1, "cell")));
    w->line("      c[j] = cell; h[j] = output * {};", act(r, 2, "cell"));
  } else if (r.kind == RnnKind::kGru) {
    w->line("      const float update = {};", act(r, 0, gate(0)));
    w->line("      const float again = {}from[{} + j];", r.linear_before_reset ? "gated[j] * " : "", 2 * n);
    w->line("      h[j] = (1.0f - update) * {} + update * h[j];", act(r, 1, fmt::format("px[{} + j] + again", 2 * n)));
  } else {
    w->line("      h[j] = {};", act(r, 0, gate(0)));
  }
}

}  // namespace

Status generate_recurrent(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const Recurrence r, read_recurrence(p, args.inputs, args.outputs));
  const int64_t n = r.hidden, shared = (3 * n + r.width() + kStepBlock) * static_cast<int64_t>(sizeof(float));
  if (shared > 48 << 10) return unsupported("{} hidden values", n);
  if (r.batch == 0) return Status();
  if (r.directions * r.batch * r.steps * r.width() >= int64_t{1} << 31) return unsupported("{} steps", r.steps);
  if (r.steps > 0) write_inputs(p, r, launches);
  WOOTZ_ASSIGN_OR_RETURN(SpecialOperands o, special_operands(p));
  const char* st = storage_type(p.inputs[0].dtype);
  Writer w;
  w.raw(prelude());
  for (size_t i = 0; i < r.activations.size(); ++i)
    w.line("W_FN float act{}(float x) {{ return {}; }}", i, form_of(r.activations[i]));
  w.line("extern \"C\" __global__ void __launch_bounds__({}) wootz_kernel({}, const float* __restrict__ part) {{",
         kStepBlock, o.parameters);
  w.line("  __shared__ float h[{0}], c[{0}], gated[{0}], from[{1}], shared[{2}];", n, r.width(), kStepBlock);
  w.line(
      "  const int lane = threadIdx.x % {0}, warp = threadIdx.x / {0}; const s64 n = blockIdx.x % {1}, d = blockIdx.x "
      "/ {1};",
      kWarp, r.batch);
  const std::string state = r.batch_first ? fmt::format("((n * {} + d) * {} + j)", r.directions, n)
                                          : fmt::format("((d * {} + n) * {} + j)", r.batch, n);
  w.line("  const {}* rd = x2 + d * {};", st, r.width() * n);
  w.line("  for (int j = threadIdx.x; j < {}; j += {}) {{ h[j] = {}; c[j] = {}; }}\n  __syncthreads();", n, kStepBlock,
         has_operand(p, 5) ? fmt::format("w_get(x5[{}])", state) : "0",
         has_operand(p, 6) ? fmt::format("w_get(x6[{}])", state) : "0");
  w.line("  s64 length = {};", has_operand(p, 4) ? "(s64)w_get(x4[n])" : std::to_string(r.steps));
  w.line("  length = length < 0 ? 0 : length > {0} ? {0} : length;", r.steps);
  const std::string place =
      fmt::format("({})", r.batch_first ? fmt::format("((n * {} + t) * {} + d) * {}", r.steps, r.directions, n)
                                        : fmt::format("((t * {} + d) * {} + n) * {}", r.directions, r.batch, n));
  w.line("  for (s64 s = 0; s < {}; ++s) {{ const s64 t = s < length && {} ? length - 1 - s : s;", r.steps,
         r.reverse ? "true" : "d == 1");
  if (p.outputs[0].dtype != DType::kInvalid)
    w.line(
        "    if (s >= length) {{ for (int j = threadIdx.x; j < {}; j += {}) y0[{} + j] = Put<{}>::to(0); continue; }}",
        n, kStepBlock, place, st);
  else
    w.line("    if (s >= length) continue;");
  w.line("    const float* px = part + ((d * {} + n) * {} + t) * {};", r.batch, r.steps, r.width());
  const bool later = r.kind == RnnKind::kGru && !r.linear_before_reset;
  write_recurrent_product(p, r, 0, later ? 2 * n : r.width(), "h", "from", &w);
  write_cell(p, r, &w);
  if (p.outputs[0].dtype != DType::kInvalid) w.line("      y0[{} + j] = Put<{}>::to(h[j]);", place, st);
  w.line("    }}\n    __syncthreads();\n  }}");
  w.line("  for (int j = threadIdx.x; j < {}; j += {}) {{", n, kStepBlock);
  for (size_t i = 1; i < p.outputs.size(); ++i)
    if (p.outputs[i].dtype != DType::kInvalid)
      w.line("    y{}[{}] = Put<{}>::to({}[j]);", i, state, st, i == 1 ? "h" : "c");
  w.line("  }}\n}}");
  Launch launch;
  launch.source = w.text();
  launch.size.block = kStepBlock;
  launch.size.grid_x = static_cast<unsigned>(r.directions * r.batch);
  launch.pointers = std::move(o.pointers);
  launch.pointers.push_back(kWorkspacePointer);
  launch.workspace = r.steps > 0 ? launches->back().workspace : sizeof(float);
  launches->push_back(std::move(launch));
  return Status();
}

}  // namespace wootz::cuda
