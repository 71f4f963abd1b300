#include "ops/rnn/rnn_cell.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "ops/support/ref_math.h"

namespace wootz::ops {
namespace {

struct ActivationEntry {
  const char* name;  // lower case
  double (*function)(double, double, double);
  bool has_alpha = false, has_beta = false;
  double alpha = 0, beta = 0;  // defaults
};

constexpr ActivationEntry kActivations[] = {
    {"relu", [](double x, double, double) { return std::max(x, 0.0); }},
    {"tanh", [](double x, double, double) { return std::tanh(x); }},
    {"sigmoid", [](double x, double, double) { return 1 / (1 + std::exp(-x)); }},
    {"affine", [](double x, double a, double b) { return a * x + b; }, true, true, 1, 0},
    {"leakyrelu", [](double x, double a, double) { return x < 0 ? a * x : x; }, true, false, 0.01},
    {"thresholdedrelu", [](double x, double a, double) { return x > a ? x : 0; }, true, false, 1},
    {"scaledtanh", [](double x, double a, double b) { return a * std::tanh(b * x); }, true, true, 1, 1},
    {"hardsigmoid", [](double x, double a, double b) { return std::clamp(a * x + b, 0.0, 1.0); }, true, true, 0.2, 0.5},
    {"elu", [](double x, double a, double) { return x < 0 ? a * std::expm1(x) : x; }, true, false, 1},
    {"softsign", [](double x, double, double) { return x / (1 + std::abs(x)); }},
    {"softplus", [](double x, double, double) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }},
};

const char* default_activations(RnnKind kind) {
  return kind == RnnKind::kLstm ? "sigmoid,tanh,tanh" : kind == RnnKind::kGru ? "sigmoid,tanh" : "tanh";
}

std::vector<std::string> split_lower(const std::string& text) {
  std::vector<std::string> parts(1);
  for (char ch : text) {
    if (ch == ',')
      parts.emplace_back();
    else
      parts.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(ch)));
  }
  return parts;
}

// [rows, columns] to [columns, rows].
std::vector<double> transposed(const double* in, int64_t rows, int64_t columns) {
  std::vector<double> out(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) out[static_cast<size_t>(j * rows + i)] = in[i * columns + j];
  return out;
}

// in[rows, k] * weights[k, n]
std::vector<double> times(const double* in, int64_t rows, int64_t k, const std::vector<double>& weights, int64_t n) {
  std::vector<double> out(static_cast<size_t>(rows * n), 0.0);
  matmul_accumulate(rows, n, k, in, weights.data(), out.data());
  return out;
}

// State of one batch element at one step: the gates' sums from x (bias included) and from h.
struct Cell {
  const RnnDirection& d;
  std::vector<double> candidate_weights;  // GRU: the hidden gate's part of r, transposed
  double act(size_t which, double x) const {
    return d.activations[which](d.clip > 0 ? std::clamp(x, -d.clip, d.clip) : x);
  }
  double bias_r(int64_t gate, int64_t j) const {
    const int64_t gates = d.kind == RnnKind::kLstm ? 4 : d.kind == RnnKind::kGru ? 3 : 1;
    return d.b == nullptr ? 0 : d.b[(gates + gate) * d.hidden + j];
  }
  double peephole(int64_t which, int64_t j, double c) const {
    return d.p == nullptr ? 0 : d.p[which * d.hidden + j] * c;
  }

  void rnn(const double* from_x, const double* from_h, double* h) const {
    for (int64_t j = 0; j < d.hidden; ++j) h[j] = act(0, from_x[j] + from_h[j] + bias_r(0, j));
  }
  void lstm(const double* from_x, const double* from_h, double* h, double* c) const {
    const auto sum = [&](int64_t gate, int64_t j) {
      return from_x[gate * d.hidden + j] + from_h[gate * d.hidden + j] + bias_r(gate, j);
    };
    for (int64_t j = 0; j < d.hidden; ++j) {
      const double input = act(0, sum(0, j) + peephole(0, j, c[j]));
      const double forget = d.input_forget ? 1 - input : act(0, sum(2, j) + peephole(2, j, c[j]));
      const double cell = forget * c[j] + input * act(1, sum(3, j));
      const double output = act(0, sum(1, j) + peephole(1, j, cell));
      c[j] = cell;
      h[j] = output * act(2, cell);
    }
  }
  void gru(const double* from_x, const double* from_h, double* h) const {
    const int64_t n = d.hidden;
    std::vector<double> reset(static_cast<size_t>(n)), gated(static_cast<size_t>(n)), candidate;
    for (int64_t j = 0; j < n; ++j) {
      reset[static_cast<size_t>(j)] = act(0, from_x[n + j] + from_h[n + j] + bias_r(1, j));
      gated[static_cast<size_t>(j)] = reset[static_cast<size_t>(j)] * h[j];
    }
    if (!d.linear_before_reset) candidate = times(gated.data(), 1, n, candidate_weights, n);
    for (int64_t j = 0; j < n; ++j) {
      const double update = act(0, from_x[j] + from_h[j] + bias_r(0, j));
      const double recurrent = d.linear_before_reset
                                   ? reset[static_cast<size_t>(j)] * (from_h[2 * n + j] + bias_r(2, j))
                                   : candidate[static_cast<size_t>(j)] + bias_r(2, j);
      h[j] = (1 - update) * act(1, from_x[2 * n + j] + recurrent) + update * h[j];
    }
  }
};

}  // namespace

Result<std::vector<RnnActivation>> read_activations(const Node& node, RnnKind kind, int directions) {
  const std::vector<std::string> defaults = split_lower(default_activations(kind));
  std::vector<std::string> names = split_lower(node.attr_string("activations"));
  const size_t wanted = defaults.size() * static_cast<size_t>(directions);
  if (names.size() == 1 && names[0].empty()) names.clear();
  if (names.empty())
    for (int d = 0; d < directions; ++d) names.insert(names.end(), defaults.begin(), defaults.end());
  if (names.size() != wanted)
    return at_node(node, invalid_argument("{} activations; {} are needed", names.size(), wanted));
  const std::vector<double> alphas = node.attr_floats("activation_alpha"), betas = node.attr_floats("activation_beta");
  size_t alpha = 0, beta = 0;
  std::vector<RnnActivation> all;
  for (const std::string& name : names) {
    const auto* entry =
        std::find_if(std::begin(kActivations), std::end(kActivations), [&](const auto& e) { return name == e.name; });
    if (entry == std::end(kActivations)) return at_node(node, invalid_argument("unknown activation '{}'", name));
    RnnActivation a{entry->function, entry->alpha, entry->beta};
    if (entry->has_alpha && alpha < alphas.size()) a.alpha = alphas[alpha++];
    if (entry->has_beta && beta < betas.size()) a.beta = betas[beta++];
    all.push_back(a);
  }
  return all;
}

std::vector<double> run_direction(RnnDirection* d, const std::vector<double>& x) {
  const int64_t gates = d->kind == RnnKind::kLstm ? 4 : d->kind == RnnKind::kGru ? 3 : 1, width = gates * d->hidden;
  std::vector<double> from_x =
      times(x.data(), d->steps * d->batch, d->inputs, transposed(d->w, width, d->inputs), width);
  if (d->b != nullptr)
    for (size_t i = 0; i < from_x.size(); ++i) from_x[i] += d->b[static_cast<int64_t>(i) % width];
  std::vector<double> y(static_cast<size_t>(d->steps * d->batch * d->hidden), 0.0);
  const std::vector<double> r = transposed(d->r, width, d->hidden);
  const bool candidate = d->kind == RnnKind::kGru && !d->linear_before_reset;
  const Cell cell{
      *d, candidate ? transposed(d->r + 2 * d->hidden * d->hidden, d->hidden, d->hidden) : std::vector<double>()};
  for (int64_t t = 0; t < d->steps; ++t) {
    const std::vector<double> from_h = times(d->h.data(), d->batch, d->hidden, r, width);
    for (int64_t n = 0; n < d->batch; ++n) {
      const int64_t length = d->lengths[static_cast<size_t>(n)];
      if (t >= length) continue;
      const int64_t at = (d->reverse ? length - 1 - t : t) * d->batch + n;
      const double *gx = from_x.data() + at * width, *gh = from_h.data() + n * width;
      double* h = d->h.data() + n * d->hidden;
      if (d->kind == RnnKind::kLstm)
        cell.lstm(gx, gh, h, d->c.data() + n * d->hidden);
      else if (d->kind == RnnKind::kGru)
        cell.gru(gx, gh, h);
      else
        cell.rnn(gx, gh, h);
      std::copy(h, h + d->hidden, y.data() + at * d->hidden);
    }
  }
  return y;
}

}  // namespace wootz::ops
