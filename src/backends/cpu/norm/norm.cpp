// Family norm: layer, rms, l2, instance and group, of f32, f16 and bf16, over rows that are contiguous. A second
// result, which is the first one rounded, is made of each row while that is in the cache.
#include <cmath>

#include "backends/cpu/epilogue.h"
#include "backends/cpu/kernel_entry.h"
#include "backends/cpu/row_reader.h"
#include "backends/cpu/simd/rows.h"
#include "base/thread_pool.h"

namespace wootz::cpu {
namespace {

// How the tensor divides. A row has one mean and deviation; layer and rms have a scale per element of the row,
// instance and group one per channel, that is per `run` elements.
struct Rows {
  int64_t rows = 1, length = 1, run = 0;  // run 0: parameters per element
  int64_t channels = 1;                   // of the tensor; a row holds length / run of them
  bool centered = true;
  bool length_only = false;  // l2: by the length of the row, epsilon its lower bound
};

Result<Rows> rows_of(const Problem& p, const Dims& x) {
  Rows r;
  const NormKind kind = p.as<NormParams>().kind;
  if (kind == NormKind::kLayer || kind == NormKind::kRms || kind == NormKind::kL2) {
    const int64_t axis = p.as<NormParams>().axis;
    if (axis < 0 || axis >= x.rank()) return invalid_argument("norm: axis {} of {}", axis, x.to_string());
    for (int d = 0; d < x.rank(); ++d) (d < axis ? r.rows : r.length) *= x[static_cast<size_t>(d)];
    r.centered = kind == NormKind::kLayer;
    r.length_only = kind == NormKind::kL2;
    return r;
  }
  if (x.rank() < 2) return invalid_argument("norm: {} has no channels", x.to_string());
  const int64_t groups = kind == NormKind::kInstance ? x[1] : p.as<NormParams>().groups;
  if (kind == NormKind::kGroup && (groups < 1 || x[1] % groups != 0))
    return invalid_argument("norm: {} groups of {} channels", groups, x[1]);
  r.run = 1;
  for (int d = 2; d < x.rank(); ++d) r.run *= x[static_cast<size_t>(d)];
  r.channels = x[1];
  r.rows = x[0] * groups;
  r.length = groups == 0 ? 0 : x[1] / groups * r.run;
  return r;
}

Status check_parameter(const Rows& r, const Dims& dims, const char* what) {
  const int64_t want = r.run == 0 ? r.length : r.channels;
  if (dims.volume() != want) return unsupported("norm: a {} of shape {} for {} values", what, dims.to_string(), want);
  return {};
}

Status check_extents(const Problem& p, std::span<const Dims> in, const Dims& out) {
  WOOTZ_ASSIGN_OR_RETURN(const Rows r, rows_of(p, in[0]));
  if (!(in[0] == out)) return invalid_argument("norm of {} gives {}", in[0].to_string(), out.to_string());
  if (r.rows * r.length == 0) return {};
  if (p.num_main > 1) WOOTZ_RETURN_IF_ERROR(check_parameter(r, in[1], "scale"));
  if (p.num_main > 2) WOOTZ_RETURN_IF_ERROR(check_parameter(r, in[2], "bias"));
  return {};
}

Status norm_applies(const Problem& p) {
  if (p.num_main < 1 || p.num_main > 3 || p.outputs.empty() || p.outputs.size() > 2)
    return invalid_argument("norm: {} inputs, {} outputs", p.num_main, p.outputs.size());
  if (p.as<NormParams>().has_scale != (p.num_main > 1) || p.as<NormParams>().has_bias != (p.num_main > 2))
    return unsupported("norm: a bias without a scale");
  std::vector<Dims> in, out;
  for (const TensorDesc& t : p.inputs) {
    in.push_back(t.dims);
    if (t.layout != Layout::kLinear) return unsupported("norm in layout {}", layout_name(t.layout));
  }
  for (int i = 0; i < p.num_main; ++i)
    if (!is_row_type(p.inputs[static_cast<size_t>(i)].dtype))
      return unsupported("norm of {}", dtype_name(p.inputs[static_cast<size_t>(i)].dtype));
  for (const TensorDesc& t : p.outputs) {
    if (t.layout != Layout::kLinear) return unsupported("norm in layout {}", layout_name(t.layout));
    if (!(t.dims == p.outputs[0].dims)) return invalid_argument("norm: results of {}", t.dims.to_string());
    out.push_back(t.dims);
  }
  WOOTZ_RETURN_IF_ERROR(check_extents(p, in, p.outputs[0].dims));
  WOOTZ_ASSIGN_OR_RETURN(const Epilogue e, Epilogue::make(p, DType::kF32, Isa::kAvx2));
  return e.bind(p, {in, out, {}}).status();
}

class NormCall final : public Call {
 public:
  Epilogue::Bound end;
  RowReader x, scale, bias;
  const RowOps* ops = nullptr;
  Rows rows;
  bool has_scale = false, has_bias = false;
  double epsilon = 0;

  Status run(const RunArgs& args) const override {
    if (rows.rows * rows.length == 0) return {};
    parallel_for(rows.rows, std::max<int64_t>(1, 16384 / rows.length), [&](int64_t begin, int64_t last) {
      Buffers buffers;
      const Parameters parameters =
          short_rows() && rows.run == 0 ? read_parameters(args, 0, rows.length, &buffers) : Parameters{};
      for (int64_t r = begin; r < last; ++r) row(args, r, parameters, &buffers);
    });
    return {};
  }

 private:
  struct Buffers {
    alignas(64) float x[kRowChunk], tile[kRowChunk], scale[kRowChunk], bias[kRowChunk];
  };
  struct Parameters {
    const float *scale = nullptr, *bias = nullptr;
  };
  // Whose elements stay in the buffers as floats, and parameters from row to row.
  bool short_rows() const { return rows.length <= kRowChunk; }

  // Of elements [i, i + n) of a row.
  Parameters read_parameters(const RunArgs& args, int64_t i, int64_t n, Buffers* to) const {
    return {has_scale ? scale.read(args.inputs[1], i, n, to->scale) : nullptr,
            has_bias ? bias.read(args.inputs[2], i, n, to->bias) : nullptr};
  }

  void row(const RunArgs& args, int64_t r, const Parameters& kept, Buffers* buffers) const {
    const int64_t at = r * rows.length;
    const float* all = short_rows() ? x.read(args.inputs[0], at, rows.length, buffers->x) : nullptr;
    const auto read = [&](int64_t i, int64_t n) {
      return all != nullptr ? all + i : x.read(args.inputs[0], at + i, n, buffers->x);
    };
    const Moments m = moments(read);
    // compute(to, from, n) makes results of elements of the row.
    const auto finish = [&](int64_t i, int64_t n, auto compute) {
      float* to = end.direct() ? static_cast<float*>(args.outputs[0]) + at + i : buffers->tile;
      compute(to, read(i, n), n);
      if (!end.trivial()) end.store(at + i, n, to, args);
    };
    if (rows.run == 0) {
      for_chunks(0, rows.length, [&](int64_t i, int64_t n) {
        const Parameters p = short_rows() ? kept : read_parameters(args, i, n, buffers);
        finish(i, n, [&](float* to, const float* v, int64_t count) {
          ops->normalize(to, v, count, m.mean, m.factor, p.scale, p.bias);
        });
      });
      return;
    }
    const int64_t per_row = rows.length / rows.run, first = r * per_row % rows.channels;
    for (int64_t c = 0; c < per_row; ++c) {
      const Parameters p = read_parameters(args, first + c, 1, buffers);
      const float a = has_scale ? m.factor * *p.scale : m.factor, shift = has_bias ? *p.bias : 0;
      for_chunks(c * rows.run, (c + 1) * rows.run, [&](int64_t i, int64_t n) {
        finish(i, n, [&](float* to, const float* v, int64_t count) { ops->affine(to, v, count, m.mean, a, shift); });
      });
    }
  }

  struct Moments {
    float mean, factor;
  };
  template <class Read>
  Moments moments(Read read) const {
    const auto n_total = static_cast<double>(rows.length);
    double sum = 0, square = 0;
    if (rows.centered)
      for_chunks(0, rows.length, [&](int64_t i, int64_t n) { sum += ops->reduce(RowOp::kSum, read(i, n), n, 0); });
    const auto mean = static_cast<float>(sum / n_total);
    for_chunks(0, rows.length, [&](int64_t i, int64_t n) { square += ops->sum_centered(read(i, n), n, mean); });
    const double length = std::sqrt(square);
    return {mean, static_cast<float>(rows.length_only ? 1 / (length < epsilon ? epsilon : length)
                                                      : 1 / std::sqrt(square / n_total + epsilon))};
  }

  template <class Fn>
  static void for_chunks(int64_t begin, int64_t last, Fn f) {
    for (int64_t i = begin; i < last; i += kRowChunk) f(i, std::min(kRowChunk, last - i));
  }
};

class NormKernel final : public Kernel {
 public:
  NormKernel(const Problem& p, Epilogue e, Isa isa) : problem_(p), epilogue_(std::move(e)), isa_(isa) {}
  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    auto call = std::make_unique<NormCall>();
    WOOTZ_ASSIGN_OR_RETURN(call->end, epilogue_.bind(problem_, args));
    WOOTZ_RETURN_IF_ERROR(check_extents(problem_, args.inputs, args.outputs[0]));
    WOOTZ_ASSIGN_OR_RETURN(call->rows, rows_of(problem_, args.inputs[0]));
    call->ops = &row_ops(isa_);
    call->x = RowReader(problem_.inputs[0].dtype, isa_);
    call->has_scale = problem_.num_main > 1;
    call->has_bias = problem_.num_main > 2;
    if (call->has_scale) call->scale = RowReader(problem_.inputs[1].dtype, isa_);
    if (call->has_bias) call->bias = RowReader(problem_.inputs[2].dtype, isa_);
    call->epsilon = problem_.as<NormParams>().epsilon;
    return std::unique_ptr<Call>(std::move(call));
  }
  int in_place(int output) const override {
    const bool same = problem_.inputs[0].dtype == problem_.outputs[0].dtype;
    const bool as_it_is = problem_.epilogue.empty() || epilogue_.direct();
    return output == 0 && same && as_it_is && !problem_.inputs[0].constant ? 0 : -1;
  }

 private:
  Problem problem_;
  Epilogue epilogue_;
  Isa isa_;
};

Result<std::unique_ptr<Kernel>> create_norm(const Problem& p, const KernelOptions& options) {
  WOOTZ_ASSIGN_OR_RETURN(Epilogue e, Epilogue::make(p, DType::kF32, options.isa));
  return std::unique_ptr<Kernel>(std::make_unique<NormKernel>(p, std::move(e), options.isa));
}

}  // namespace

const KernelEntry norm_float_rows{Family::kNorm, kSchemeLinear, norm_applies, create_norm};

}  // namespace wootz::cpu
