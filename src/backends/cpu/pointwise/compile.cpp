// Expression -> steps: dead code dropped, types made explicit, registers shared by values that do not live together.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>

#include "backends/cpu/pointwise/engine.h"
#include "backends/cpu/pointwise/grid.h"
#include "backends/cpu/pointwise/op_weight.h"
#include "base/half.h"

namespace wootz::cpu {
namespace {

constexpr int kNoValue = -1;

template <int kBytes>
void copy_elements(const OpArgs& p) {
  std::memmove(p.dst, p.a, static_cast<size_t>(p.n) * kBytes);
}
OpFn find_copy(int bytes) {
  switch (bytes) {
    case 1: return copy_elements<1>;
    case 2: return copy_elements<2>;
    case 4: return copy_elements<4>;
    default: return copy_elements<8>;
  }
}

int bytes_of(DType type) { return dtype_bits(type) / 8; }

double largest_finite(DType type) {
  switch (type) {
    case DType::kF16: return 65504;
    case DType::kBF16: return bf16_to_f32(0x7f7f);
    default: return std::numeric_limits<float>::infinity();  // the narrow formats saturate by themselves
  }
}

uint64_t constant_bits(DType reg, double value) {
  uint64_t bits = 0;
  const auto put = [&bits](auto v) { std::memcpy(&bits, &v, sizeof(v)); };
  if (reg == DType::kF32) {
    put(static_cast<float>(value));
  } else if (reg == DType::kF64) {
    put(value);
  } else if (reg == DType::kBool) {
    put(static_cast<uint8_t>(std::isnan(value) || std::trunc(value) == 0 ? 0 : 1));
  } else {
    const OpFn cast = find_convert(Isa::kNone, DType::kF64, reg, false);
    cast({&bits, &value, nullptr, nullptr, 1, 0, 0});
  }
  return bits;
}

class Compiler {
 public:
  Compiler(const PointwiseExpr& expr, Isa isa, int tile)
      : expr_(expr), isa_(isa), tile_(tile), code_(std::make_shared<PointwiseCode>()) {}

  Result<std::shared_ptr<const PointwiseCode>> run() {
    WOOTZ_RETURN_IF_ERROR(expr_.verify());
    find_uses();
    for (size_t o = 0; o < expr_.outputs.size(); ++o) {
      const DType type = expr_.output_type(o);
      if (register_type(type) == DType::kInvalid) return unsupported("pointwise: results of type {}", dtype_name(type));
      code_->output_types.push_back(type);
    }
    slots_.resize(expr_.code.size());
    for (size_t i = 0; i < expr_.code.size(); ++i) {
      if (last_use_[i] == kNoValue) continue;
      WOOTZ_RETURN_IF_ERROR(value(static_cast<int>(i)));
    }
    code_->cost_ns += 0.25;
    return std::shared_ptr<const PointwiseCode>(code_);
  }

 private:
  const PwInstr& at(int i) const { return expr_.code[static_cast<size_t>(i)]; }
  PwSlot& slot(int i) { return slots_[static_cast<size_t>(root_[static_cast<size_t>(i)])]; }
  DType reg_of(int i) const { return register_type(at(i).type); }

  // A cast that changes nothing in the register gives the same value: follow it to its root.
  bool is_view(const PwInstr& in) const {
    if (in.op != PwOp::kCast && in.op != PwOp::kCastSaturate) return false;
    const DType from = expr_.code[in.a].type;
    if (register_type(from) != in.type || in.type == DType::kInvalid) return false;  // a narrow float rounds
    return in.op == PwOp::kCast || !is_float(in.type);
  }

  void find_uses() {
    const auto n = static_cast<int>(expr_.code.size());
    root_.resize(expr_.code.size());
    for (int i = 0; i < n; ++i) root_[static_cast<size_t>(i)] = is_view(at(i)) ? root_[at(i).a] : i;
    last_use_.assign(expr_.code.size(), kNoValue);
    is_read_.assign(expr_.code.size(), false);
    const auto use = [&](uint16_t v, int by) {
      int& last = last_use_[static_cast<size_t>(root_[v])];
      last = std::max(last, by);
      is_read_[static_cast<size_t>(root_[v])] = is_read_[static_cast<size_t>(root_[v])] || by < n;
    };
    for (uint16_t o : expr_.outputs) use(o, n);
    for (int i = n - 1; i >= 0; --i) {
      if (last_use_[static_cast<size_t>(i)] == kNoValue) continue;
      const int arity = arity_of(at(i));
      if (arity > 0) use(at(i).a, i);
      if (arity > 1) use(at(i).b, i);
      if (arity > 2) use(at(i).c, i);
    }
  }

  // How many operands are read.
  int arity_of(const PwInstr& in) const { return grid_of(expr_, in) ? 1 : pw_op_arity(in.op); }

  PwSlot new_register(int bytes) {
    auto& free = free_[bytes];
    if (!free.empty()) {
      const uint16_t r = free.back();
      free.pop_back();
      return {PwSlot::kRegister, r};
    }
    code_->register_bytes.push_back(bytes);
    return {PwSlot::kRegister, static_cast<uint16_t>(code_->register_bytes.size() - 1)};
  }
  void release(PwSlot slot) {
    if (slot.kind == PwSlot::kRegister) free_[code_->register_bytes[slot.index]].push_back(slot.index);
  }
  // After instruction i: registers of operands whose last use it was are free again. Constants stay for good.
  void release_operands(int i) {
    const int arity = arity_of(at(i));
    const uint16_t operands[3] = {at(i).a, at(i).b, at(i).c};
    for (int k = 0; k < arity; ++k) {
      const int v = root_[operands[k]];
      int& last = last_use_[static_cast<size_t>(v)];
      if (last != i || at(v).op == PwOp::kConst) continue;
      last = kNoValue - 1;  // once, although it may stand twice
      release(slots_[static_cast<size_t>(v)]);
    }
  }

  void emit(OpFn fn, PwSlot dst, PwSlot a, PwSlot b = {}, PwSlot c = {}, double imm0 = 0, double imm1 = 0,
            double weight = 1) {
    code_->steps.push_back({fn, dst, a, b, c, imm0, imm1});
    code_->cost_ns += 0.08 * weight;
  }

  PwSlot constant(DType reg, double value) {
    const uint64_t bits = constant_bits(reg, value);
    const auto key = std::make_pair(bits, bytes_of(reg));
    const auto found = constants_.find(key);
    if (found != constants_.end()) return found->second;
    code_->register_bytes.push_back(bytes_of(reg));  // its own: filled before the steps run
    const PwSlot slot{PwSlot::kRegister, static_cast<uint16_t>(code_->register_bytes.size() - 1)};
    code_->constants.push_back({slot.index, bits});
    constants_[key] = slot;
    return slot;
  }

  // Where instruction i's result goes: straight to an output where it lies there as it is computed.
  PwSlot destination(int i) {
    for (size_t o = 0; o < expr_.outputs.size(); ++o)
      if (root_[expr_.outputs[o]] == i && register_type(expr_.output_type(o)) == expr_.output_type(o))
        return {PwSlot::kOutput, static_cast<uint16_t>(o)};
    return new_register(bytes_of(reg_of(i)));
  }

  // Stores value i to the outputs that it is, other than the one it was computed into.
  Status store(int i) {
    const PwSlot from = slots_[static_cast<size_t>(i)];
    for (size_t o = 0; o < expr_.outputs.size(); ++o) {
      const PwSlot to{PwSlot::kOutput, static_cast<uint16_t>(o)};
      if (root_[expr_.outputs[o]] != i || (from.kind == to.kind && from.index == to.index)) continue;
      const DType type = expr_.output_type(o);
      if (register_type(type) == type) {
        emit(find_copy(bytes_of(type)), to, from);
      } else {
        emit(find_store(isa_, type), to, from);
      }
    }
    return {};
  }

  // Whether nothing reads value i of 16 bits, and every output that it is has its type: a cast back to f32 is the same
  // value. (Of 8 bits NaN has a sign that the way through f32 takes off.)
  bool only_stored(int i) const {
    if (bytes_of(at(i).type) != 2) return false;
    for (size_t o = 0; o < expr_.outputs.size(); ++o)
      if (root_[expr_.outputs[o]] == i && expr_.output_type(o) != at(i).type) return false;
    return !is_read_[static_cast<size_t>(i)];
  }

  // Rounds an f32 register to a narrow float's values.
  void round_to(DType type, PwSlot dst, PwSlot from, bool saturate, bool clip) {
    if (clip) {
      const double limit = largest_finite(type);
      emit(find_op(isa_, PwOp::kClip, DType::kF32, DType::kF32), dst, from, {}, {}, -limit, limit);
      from = dst;
    }
    const PwSlot raw = new_register(bytes_of(type));
    emit(find_narrow(isa_, type, saturate), raw, from);
    emit(find_widen(isa_, type), dst, raw);
    release(raw);
  }

  Status value(int i) {
    const PwInstr& in = at(i);
    const DType reg = register_type(in.type);
    if (reg == DType::kInvalid) return unsupported("pointwise: values of type {}", dtype_name(in.type));
    PwSlot& out = slots_[static_cast<size_t>(i)];
    switch (in.op) {
      case PwOp::kInput: {
        WOOTZ_ASSIGN_OR_RETURN(out, operand(in));
        if (static_cast<int>(in.a) == tile_) return tile(i);
        const PwSlot raw = out;
        if (reg != in.type) {
          out = new_register(bytes_of(reg));
          emit(find_widen(isa_, in.type), out, raw);
        }
        return store_raw(i, raw);
      }
      case PwOp::kConst: out = constant(reg, in.imm0); return store(i);
      case PwOp::kCast:
      case PwOp::kCastSaturate: return cast(i);
      case PwOp::kQuantize: return quantize(i);
      default: break;
    }
    const DType from = reg_of(in.a);
    if (in.op == PwOp::kPow && reg == DType::kF32 && power(i)) return store(i);
    const OpFn fn = find_op(isa_, in.op, reg, from);
    if (fn == nullptr) return unsupported("pointwise: {} on {}", pw_op_name(in.op), dtype_name(in.type));
    const int arity = pw_op_arity(in.op);
    const PwSlot a = slot(in.a), b = arity > 1 ? slot(in.b) : PwSlot{}, c = arity > 2 ? slot(in.c) : PwSlot{};
    release_operands(i);  // the result may take an operand's register: equal element sizes only
    out = destination(i);
    emit(fn, out, a, b, c, in.imm0, in.imm1, weight_of(in.op));
    return store(i);
  }

  // The kernel's own result. A narrow float that is an output, and read besides, is read as it is stored there:
  // rounded.
  Status tile(int i) {
    const DType type = at(i).type;
    WOOTZ_RETURN_IF_ERROR(store(i));
    const auto stored = std::ranges::find_if(expr_.outputs, [&](uint16_t v) { return root_[v] == i; });
    if (register_type(type) == type || stored == expr_.outputs.end() || !is_read_[static_cast<size_t>(i)]) return {};
    const PwSlot out = slots_[static_cast<size_t>(i)] = new_register(bytes_of(register_type(type)));
    emit(find_widen(isa_, type), out, {PwSlot::kOutput, static_cast<uint16_t>(stored - expr_.outputs.begin())});
    return {};
  }

  // An input that is an output as it is: its bytes.
  Status store_raw(int i, PwSlot raw) {
    for (size_t o = 0; o < expr_.outputs.size(); ++o)
      if (root_[expr_.outputs[o]] == i) {
        const DType type = expr_.output_type(o);
        const PwSlot to{PwSlot::kOutput, static_cast<uint16_t>(o)};
        if (type == at(i).type)
          emit(find_copy(bytes_of(type)), to, raw);
        else
          emit(find_copy(bytes_of(type)), to, slots_[static_cast<size_t>(i)]);  // widened
      }
    return {};
  }

  Result<PwSlot> operand(const PwInstr& in) {
    for (size_t k = 0; k < code_->operands.size(); ++k)
      if (code_->operands[k].input == in.a) return PwSlot{PwSlot::kOperand, static_cast<uint16_t>(k)};
    if (code_->operands.size() == PointwiseCode::kMaxOperands)
      return unsupported("pointwise: more than {} operands", PointwiseCode::kMaxOperands);
    const DType type = static_cast<int>(in.a) == tile_ ? register_type(in.type) : in.type;
    code_->operands.push_back({in.a, type, bytes_of(type)});
    return PwSlot{PwSlot::kOperand, static_cast<uint16_t>(code_->operands.size() - 1)};
  }

  // Powers that a few products give exactly.
  bool power(int i) {
    const PwInstr& in = at(i);
    const PwInstr& exponent = at(root_[in.b]);
    if (exponent.op != PwOp::kConst || (exponent.imm0 != 2 && exponent.imm0 != 3 && exponent.imm0 != -1)) return false;
    const OpFn mul = find_op(isa_, PwOp::kMul, DType::kF32, DType::kF32);
    const PwSlot a = slot(in.a);
    if (exponent.imm0 == 3) {
      const PwSlot square = new_register(4);
      emit(mul, square, a, a);
      slots_[static_cast<size_t>(i)] = destination(i);
      emit(mul, slots_[static_cast<size_t>(i)], square, a);
      release(square);
      release_operands(i);
      return true;
    }
    release_operands(i);
    slots_[static_cast<size_t>(i)] = destination(i);
    if (exponent.imm0 == 2)
      emit(mul, slots_[static_cast<size_t>(i)], a, a);
    else
      emit(find_op(isa_, PwOp::kReciprocal, DType::kF32, DType::kF32), slots_[static_cast<size_t>(i)], a);
    return true;
  }

  Status cast(int i) {
    const PwInstr& in = at(i);
    if (root_[static_cast<size_t>(i)] != i) return {};
    const DType from = reg_of(in.a), reg = register_type(in.type);
    const bool saturate = in.op == PwOp::kCastSaturate;
    PwSlot a = slot(in.a);
    PwSlot& out = slots_[static_cast<size_t>(i)];
    if (reg == in.type) {
      const OpFn fn = find_convert(isa_, from, reg, saturate);
      if (fn == nullptr) return unsupported("pointwise: cast of {} to {}", dtype_name(from), dtype_name(in.type));
      if (bytes_of(from) == bytes_of(reg)) release_operands(i);
      out = destination(i);
      emit(fn, out, a);
      if (bytes_of(from) != bytes_of(reg)) release_operands(i);
      return store(i);
    }
    if (from == DType::kF32 && !saturate && only_stored(i)) {
      for (size_t o = 0; o < expr_.outputs.size(); ++o)
        if (root_[expr_.outputs[o]] == i)
          emit(find_narrow(isa_, in.type, false), {PwSlot::kOutput, static_cast<uint16_t>(o)}, a);
      release_operands(i);
      return {};
    }
    out = new_register(4);  // a narrow float: to f32, then to its values
    if (from != DType::kF32) {
      emit(find_convert(isa_, from, DType::kF32, false), out, a);
      a = out;
    }
    round_to(in.type, out, a, saturate, saturate);
    release_operands(i);
    return store(i);
  }

  Status quantize(int i) {
    const PwInstr& in = at(i);
    if (const std::optional<PwGrid> grid = grid_of(expr_, in)) {
      const PwSlot a = slot(in.a);
      slots_[static_cast<size_t>(i)] = destination(i);
      emit(find_vector_quantize_by(isa_, in.type), slots_[static_cast<size_t>(i)], a, {}, {}, grid->scale, grid->zero,
           2);
      release_operands(i);
      return store(i);
    }
    const DType from = reg_of(in.a), zero = reg_of(in.c);
    const PwSlot a = slot(in.a), b = slot(in.b);
    PwSlot c = slot(in.c), widened;
    if (zero != from && at(root_[in.c]).op == PwOp::kConst) {
      c = constant(from, at(root_[in.c]).imm0);
    } else if (zero != from) {
      widened = new_register(bytes_of(from));
      emit(find_convert(isa_, zero, from, false), widened, c);
      c = widened;
    }
    PwSlot& out = slots_[static_cast<size_t>(i)];
    if (!is_float(in.type)) {
      const OpFn fn = find_quantize(isa_, from, in.type);
      if (fn == nullptr) return unsupported("pointwise: quantize to {}", dtype_name(in.type));
      out = destination(i);
      emit(fn, out, a, b, c, 0, 0, 2);
    } else {
      if (from != DType::kF32 || register_type(in.type) == in.type)
        return unsupported("pointwise: quantize of {} to {}", dtype_name(from), dtype_name(in.type));
      out = new_register(4);
      emit(find_op(isa_, PwOp::kDiv, DType::kF32, DType::kF32), out, a, b);
      emit(find_op(isa_, PwOp::kAdd, DType::kF32, DType::kF32), out, out, c);
      round_to(in.type, out, out, true, true);
    }
    release(widened);
    release_operands(i);
    return store(i);
  }

  const PointwiseExpr& expr_;
  Isa isa_;
  int tile_;
  std::shared_ptr<PointwiseCode> code_;
  std::vector<int> root_, last_use_;
  std::vector<bool> is_read_;  // by an instruction, and not only as an output
  std::vector<PwSlot> slots_;
  std::map<int, std::vector<uint16_t>> free_;
  std::map<std::pair<uint64_t, int>, PwSlot> constants_;
};

}  // namespace

Result<std::shared_ptr<const PointwiseCode>> PointwiseCode::compile(const PointwiseExpr& expr, Isa isa, int tile) {
  return Compiler(expr, isa, tile).run();
}

}  // namespace wootz::cpu
