// Casts that are no expression: bits that are taken for another type, and to the powers of two with their roundings.
#include "backends/cuda/generate/special/special.h"

namespace wootz::cuda {

Status generate_bit_cast(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 1));
  if (dtype_bits(p.inputs[0].dtype) != dtype_bits(p.outputs[0].dtype))
    return invalid_argument("bits of {} as {}", dtype_name(p.inputs[0].dtype), dtype_name(p.outputs[0].dtype));
  Problem copy = p;
  copy.inputs[0].dtype = copy.outputs[0].dtype;
  return generate_reformat(copy, args, launches);
}

Status generate_cast_e8m0(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 1));
  const Dims& x = args.inputs[0];
  const auto& op = *op_params<CastE8M0OpParams>(p);
  const PowerRounding mode = op.round_mode;
  if (p.outputs[0].dtype != DType::kF8E8M0 || !(x == args.outputs[0]))
    return invalid_argument("{} to powers of two by '{}'", x.to_string(), name_of(mode));
  if (x.volume() == 0) return Status();
  const bool saturate = op.saturate;
  Writer w;
  Launch launch;
  WOOTZ_RETURN_IF_ERROR(begin_special(p, x.volume(), &w, &launch));
  w.line(
      "  const u32 bits = w_f2bits((float)(double)w_get(x0[i])), fraction = bits & 0x7fffffu, size = bits & "
      "0x7fffffffu;");
  w.line("  u32 e = size >> 23;");
  w.line("  if (size > 0x7f800000u) e = 255;\n  else if (size == 0x7f800000u) e = {};", saturate ? 254 : 255);
  if (!saturate) w.line("  else if (size == 0) e = 255;");
  w.line("  else {{ if ({}) ++e; {} }}",
         mode == PowerRounding::kUp     ? "fraction != 0"
         : mode == PowerRounding::kDown ? "false"
                                        : "fraction > 0x400000u || (fraction == 0x400000u && e > 0)",
         saturate ? "if (e > 254) e = 254;" : "");
  w.line("  y0[i].x = (u8)e;");
  end_special(&w, std::move(launch), launches);
  return Status();
}

}  // namespace wootz::cuda
