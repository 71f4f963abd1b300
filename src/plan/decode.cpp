#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <cstring>

#include "backend/refit.h"
#include "plan/codes.h"
#include "plan/encode.h"
#include "plan/format.h"
#include "plan/plan_generated.h"
#include "plan/plan_limits.h"

namespace wootz {
namespace {

using flatbuffers::Vector;

// Number in the file -> number in this build, by name. Unknown names are no error until something uses them.
class Codes {
 public:
  Codes(const char* what, const Vector<flatbuffers::Offset<flatbuffers::String>>* names, int count,
        const char* (*name_of)(int))
      : what_(what) {
    for (uint32_t i = 0; names != nullptr && i < names->size() && i < 256; ++i) {
      const std::string_view name(names->Get(i)->c_str(), names->Get(i)->size());
      names_.emplace_back(name.substr(0, 64));
      map_.push_back(-1);
      for (int k = 0; k < count && map_.back() < 0; ++k)
        if (name == name_of(k)) map_.back() = k;
    }
  }

  template <typename E>
  Status get(uint8_t code, E* out) const {
    if (code >= map_.size()) return corrupt("plan: {} number {} of {}", what_, code, map_.size());
    if (map_[code] < 0) return unsupported("plan: this build knows no {} '{}'", what_, names_[code]);
    *out = static_cast<E>(map_[code]);
    return {};
  }

 private:
  const char* what_;
  std::vector<std::string_view> names_;
  std::vector<int> map_;
};

const char* dtype_at(int i) { return dtype_name(static_cast<DType>(i)); }
const char* layout_at(int i) { return layout_name(static_cast<Layout>(i)); }
const char* op_at(int i) { return pw_op_name(static_cast<PwOp>(i)); }

class Decoder {
 public:
  Decoder(const fb::Plan& plan, size_t metadata_bytes, std::span<const std::byte> weights)
      : plan_(plan),
        weights_(weights),
        budget_(metadata_bytes),
        dtypes_("element type", plan.dtypes(), kDTypeCount, dtype_at),
        layouts_("layout", plan.layouts(), kLayoutCount, layout_at),
        ops_("pointwise operation", plan.pointwise_ops(), plan_codes::kPwOpCount, op_at) {}

  Result<Program> run() {
    Program p;
    stripped_ = plan_.stripped();
    WOOTZ_RETURN_IF_ERROR(decode(plan_, &p));
    return p;
  }

 private:
  // A body is a program like the whole, nested no deeper than FlatBuffers' verifier lets pass.
  Status decode(const fb::Plan& from, Program* to) {
    constexpr size_t kLeast = 64;  // of any that holds together
    WOOTZ_RETURN_IF_ERROR(charge(kLeast));
    to->stripped = from.stripped();
    WOOTZ_RETURN_IF_ERROR(text(from.name(), &to->name));
    WOOTZ_RETURN_IF_ERROR(text(from.backend(), &to->backend));
    WOOTZ_RETURN_IF_ERROR(text(from.device(), &to->device));
    WOOTZ_RETURN_IF_ERROR(each("shape expressions", from.exprs(), plan_limits::kMaxExprs, &to->exprs));
    WOOTZ_RETURN_IF_ERROR(each("symbols", from.symbols(), plan_limits::kMaxSymbols, &to->symbols));
    WOOTZ_RETURN_IF_ERROR(each("tensors", from.tensors(), plan_limits::kMaxTensors, &to->tensors));
    WOOTZ_RETURN_IF_ERROR(each("constants", from.constants(), plan_limits::kMaxConstants, &to->constants));
    WOOTZ_RETURN_IF_ERROR(each("layers", from.steps(), plan_limits::kMaxSteps, &to->steps));
    WOOTZ_RETURN_IF_ERROR(each("inputs", from.inputs(), plan_limits::kMaxTensors, &to->inputs));
    WOOTZ_RETURN_IF_ERROR(each("outputs", from.outputs(), plan_limits::kMaxTensors, &to->outputs));
    WOOTZ_RETURN_IF_ERROR(each("profiles", from.profiles(), size_t{limits::kMaxProfiles}, &to->profiles));
    WOOTZ_RETURN_IF_ERROR(properties(from, to));
    WOOTZ_RETURN_IF_ERROR(each("pieces of machine code", from.native(), plan_limits::kMaxNative, &to->native));
    WOOTZ_RETURN_IF_ERROR(each("bodies", from.bodies(), plan_limits::kMaxBodies, &to->bodies));
    WOOTZ_RETURN_IF_ERROR(each("checks of shapes", from.checks(), plan_limits::kMaxSteps, &to->checks));
    return from.refit() == nullptr ? Status() : refit(*from.refit(), to);
  }

  // A file may let many references share one text or list, so what they unfold to is charged against the file's size:
  // a file that shares nothing, as ours, always fits.
  Status charge(size_t bytes) {
    if (bytes > budget_)
      return make_error(Code::kResourceExhausted, "plan: its parts repeat each other beyond the size of the file");
    budget_ -= bytes;
    return {};
  }

  Status text(const flatbuffers::String* from, std::string* to) {
    if (from == nullptr) return {};
    WOOTZ_RETURN_IF_ERROR(charge(from->size()));
    to->assign(from->c_str(), from->size());
    return {};
  }
  // FlatBuffers' verifier proves that elements are inside the buffer, not that they are aligned.
  template <typename T>
  static Status aligned(const Vector<T>* list) {
    using Element = std::remove_const_t<std::remove_pointer_t<T>>;
    if (list->size() == 0 || reinterpret_cast<uintptr_t>(list->Data()) % alignof(Element) == 0) return {};
    return corrupt("plan: a list of numbers lies between their places");
  }

  template <typename T>
  Status list(const Vector<T>* from, std::vector<T>* to) {
    if (from == nullptr) return {};
    WOOTZ_RETURN_IF_ERROR(aligned(from));
    WOOTZ_RETURN_IF_ERROR(charge(from->size() * sizeof(T)));
    to->assign(from->begin(), from->end());
    return {};
  }
  template <typename Tag>
  Status list(const Vector<int32_t>* from, std::vector<Index<Tag>>* to) {
    std::vector<int32_t> numbers;
    WOOTZ_RETURN_IF_ERROR(list(from, &numbers));
    to->reserve(numbers.size());
    for (const int32_t number : numbers) to->emplace_back(number);
    return {};
  }
  Status extents(const Vector<int64_t>* from, Dims* to) {
    if (from == nullptr) return {};
    WOOTZ_RETURN_IF_ERROR(aligned(from));
    if (from->size() > static_cast<uint32_t>(limits::kMaxRank))
      return make_error(Code::kResourceExhausted, "plan: rank {}, the limit is {}", from->size(), limits::kMaxRank);
    for (const int64_t d : *from) to->push_back(d);
    return {};
  }
  template <typename F, typename T>
  Status each(const char* what, const Vector<flatbuffers::Offset<F>>* from, size_t limit, std::vector<T>* to) {
    if (from == nullptr) return {};
    if (from->size() > limit)
      return make_error(Code::kResourceExhausted, "plan: {} {}, the limit is {}", from->size(), what, limit);
    WOOTZ_RETURN_IF_ERROR(charge(from->size() * sizeof(flatbuffers::uoffset_t)));
    to->resize(from->size());
    for (uint32_t i = 0; i < from->size(); ++i) WOOTZ_RETURN_IF_ERROR(decode(*from->Get(i), &(*to)[i]));
    return {};
  }
  template <typename F, typename I, typename T>
  Status each(const char* what, const Vector<flatbuffers::Offset<F>>* from, size_t limit, IndexedVector<I, T>* to) {
    return each(what, from, limit, &to->items());
  }
  // Fixed enumerations: verify_program checks the number.
  template <typename E>
  static void fixed(uint8_t code, E* out) {
    *out = static_cast<E>(code);
  }

  Status decode(const fb::Expr& from, ShapeExpr* to) {
    fixed(from.op(), &to->op);
    to->value = from.value();
    return list(from.operands(), &to->operands);
  }
  Status decode(const fb::Symbol& from, PlanSymbol* to) {
    fixed(from.source(), &to->source);
    to->tensor = TensorIndex(from.tensor());
    to->axis = from.axis();
    return text(from.name(), &to->name);
  }
  Status decode(const fb::Tensor& from, PlanTensor* to) {
    WOOTZ_RETURN_IF_ERROR(text(from.name(), &to->name));
    WOOTZ_RETURN_IF_ERROR(dtypes_.get(from.dtype(), &to->dtype));
    WOOTZ_RETURN_IF_ERROR(layouts_.get(from.layout(), &to->layout));
    fixed(from.kind(), &to->kind);
    to->view_of = TensorIndex(from.view_of());
    to->constant = ConstantIndex(from.constant());
    to->offset = ExpressionIndex(from.offset());
    WOOTZ_RETURN_IF_ERROR(list(from.dims(), &to->dims));
    WOOTZ_RETURN_IF_ERROR(list(from.subviews(), &to->subviews));
    return list(from.values(), &to->values);
  }
  Status inside(const char* what, const std::string& name, uint64_t offset, uint64_t bytes) const {
    if (offset % plan_format::kBlobAlignment == 0 && offset <= weights_.size() && bytes <= weights_.size() - offset)
      return {};
    return corrupt("plan: {} '{}': {} bytes at {} of {} bytes of weights", what, name.substr(0, 200), bytes, offset,
                   weights_.size());
  }
  Status decode(const fb::Native& from, NativeCode* to) {
    WOOTZ_RETURN_IF_ERROR(text(from.key(), &to->key));
    WOOTZ_RETURN_IF_ERROR(inside("machine code", to->key, from.offset(), from.bytes()));
    to->bytes = weights_.subspan(from.offset(), from.bytes());
    return {};
  }
  Status decode(const fb::Constant& from, PlanConstant* to) {
    WOOTZ_RETURN_IF_ERROR(text(from.name(), &to->name));
    WOOTZ_RETURN_IF_ERROR(dtypes_.get(from.dtype(), &to->dtype));
    WOOTZ_RETURN_IF_ERROR(layouts_.get(from.layout(), &to->layout));
    WOOTZ_RETURN_IF_ERROR(extents(from.dims(), &to->dims));
    to->bytes = from.bytes();
    to->form_version = from.form_version();
    if (stripped_) return {};
    WOOTZ_RETURN_IF_ERROR(inside("constant", to->name, from.offset(), from.bytes()));
    to->data = weights_.data() + from.offset();
    return {};
  }
  Status decode(const fb::TensorDesc& from, TensorDesc* to) {
    WOOTZ_RETURN_IF_ERROR(dtypes_.get(from.dtype(), &to->dtype));
    WOOTZ_RETURN_IF_ERROR(layouts_.get(from.layout(), &to->layout));
    WOOTZ_RETURN_IF_ERROR(extents(from.dims(), &to->dims));
    WOOTZ_RETURN_IF_ERROR(extents(from.max_dims(), &to->max_dims));
    to->constant = from.constant();
    return {};
  }
  Status decode(const fb::Pointwise& from, PointwiseExpr* to) {
    to->num_inputs = from.num_inputs();
    WOOTZ_RETURN_IF_ERROR(list(from.outputs(), &to->outputs));
    if (from.code() == nullptr) return {};
    WOOTZ_RETURN_IF_ERROR(aligned(from.code()));
    WOOTZ_RETURN_IF_ERROR(charge(from.code()->size() * sizeof(fb::PwInstr)));
    to->code.reserve(from.code()->size());
    for (const fb::PwInstr* i : *from.code()) {
      PwInstr& made = to->code.emplace_back();
      WOOTZ_RETURN_IF_ERROR(ops_.get(i->op(), &made.op));
      WOOTZ_RETURN_IF_ERROR(dtypes_.get(i->type(), &made.type));
      made.a = i->a();
      made.b = i->b();
      made.c = i->c();
      made.imm0 = i->imm0();
      made.imm1 = i->imm1();
    }
    return {};
  }
  Status decode(const fb::Problem& from, Problem* to) {
    if (from.params() == nullptr) return corrupt("plan: a problem without a kernel family");
    WOOTZ_RETURN_IF_ERROR(charge(from.params()->size()));
    Result<FamilyParams> params = parse_family_params({from.params()->c_str(), from.params()->size()});
    if (!params.ok()) return params.status().with_prefix("plan");
    to->params = std::move(params).value();
    to->passing = from.passing();
    WOOTZ_RETURN_IF_ERROR(dtypes_.get(from.acc_dtype(), &to->acc_dtype));
    to->num_main = from.num_main();
    constexpr size_t kMostOperands = limits::kMaxInputsPerNode;
    WOOTZ_RETURN_IF_ERROR(each("inputs of a layer", from.inputs(), kMostOperands, &to->inputs));
    WOOTZ_RETURN_IF_ERROR(each("outputs of a layer", from.outputs(), kMostOperands, &to->outputs));
    return from.epilogue() == nullptr ? Status() : decode(*from.epilogue(), &to->epilogue);
  }
  Status decode(const fb::Step& from, Step* to) {
    WOOTZ_RETURN_IF_ERROR(text(from.name(), &to->name));
    for (uint32_t i = 0; from.provenance() != nullptr && i < from.provenance()->size(); ++i) {
      WOOTZ_RETURN_IF_ERROR(charge(sizeof(flatbuffers::uoffset_t)));
      WOOTZ_RETURN_IF_ERROR(text(from.provenance()->Get(i), &to->provenance.emplace_back()));
    }
    if (from.problem() == nullptr) return corrupt("plan: layer '{}' has no problem", to->name.substr(0, 200));
    WOOTZ_RETURN_IF_ERROR(decode(*from.problem(), &to->problem));
    WOOTZ_RETURN_IF_ERROR(text(from.provider(), &to->tactic.provider));
    WOOTZ_RETURN_IF_ERROR(text(from.kernel(), &to->tactic.kernel));
    WOOTZ_RETURN_IF_ERROR(text(from.config(), &to->tactic.config));
    WOOTZ_RETURN_IF_ERROR(list(from.inputs(), &to->inputs));
    WOOTZ_RETURN_IF_ERROR(list(from.outputs(), &to->outputs));
    to->workspace = from.workspace();
    to->measured_us = from.measured_us();
    to->stream = from.stream();
    return {};
  }
  Status decode(const fb::Io& from, IoTensor* to) {
    to->tensor = TensorIndex(from.tensor());
    to->is_shape_tensor = from.is_shape_tensor();
    return {};
  }
  Status decode(const fb::Profile& from, PlanProfile* to) {
    to->body = from.body();
    if (from.ranges() == nullptr) return {};
    WOOTZ_RETURN_IF_ERROR(aligned(from.ranges()));
    WOOTZ_RETURN_IF_ERROR(charge(from.ranges()->size() * sizeof(fb::Range)));
    for (const fb::Range* r : *from.ranges()) to->symbols.push_back({r->min(), r->opt(), r->max()});
    return {};
  }
  Status decode(const fb::Check& from, ShapeCheck* to) {
    to->expr = ExpressionIndex(from.expr());
    return text(from.message(), &to->message);
  }
  Status decode(const fb::RefitConstant& from, RefitConstant* to) {
    WOOTZ_RETURN_IF_ERROR(dtypes_.get(from.dtype(), &to->dtype));
    WOOTZ_RETURN_IF_ERROR(extents(from.dims(), &to->dims));
    to->bytes = from.bytes();
    to->stripped = from.stripped();
    if (from.digest() != nullptr && from.digest()->size() == to->digest.size())
      std::memcpy(to->digest.data(), from.digest()->data(), to->digest.size());
    if (to->stripped) return {};
    WOOTZ_RETURN_IF_ERROR(inside("constant", "of the network", from.offset(), from.bytes()));
    to->data = weights_.data() + from.offset();
    return {};
  }
  Status decode(const fb::RefitWeight& from, RefitWeight* to) {
    WOOTZ_RETURN_IF_ERROR(text(from.name(), &to->name));
    WOOTZ_RETURN_IF_ERROR(text(from.layer(), &to->layer));
    to->role = from.role();
    to->constant = from.constant();
    to->refittable = from.refittable();
    return {};
  }
  Status refit(const fb::Refit& from, Program* to) {
    auto recipe = std::make_shared<RefitRecipe>();
    WOOTZ_RETURN_IF_ERROR(text(from.graph(), &recipe->graph));
    WOOTZ_RETURN_IF_ERROR(text(from.settings(), &recipe->settings));
    WOOTZ_RETURN_IF_ERROR(text(from.choices(), &recipe->choices));
    WOOTZ_RETURN_IF_ERROR(
        each("constants of the network", from.constants(), plan_limits::kMaxConstants, &recipe->constants));
    WOOTZ_RETURN_IF_ERROR(each("refittable weights", from.weights(), plan_limits::kMaxConstants, &recipe->weights));
    recipe->identical = from.identical();
    to->refit = std::move(recipe);
    return {};
  }
  Status properties(const fb::Plan& from, Program* p) {
    for (uint32_t i = 0; from.properties() != nullptr && i < from.properties()->size(); ++i) {
      const fb::Property& property = *from.properties()->Get(i);
      std::string name, value;
      WOOTZ_RETURN_IF_ERROR(text(property.name(), &name));
      WOOTZ_RETURN_IF_ERROR(text(property.value(), &value));
      const auto [at, fresh] = p->properties.emplace(std::move(name), std::move(value));
      if (!fresh) return corrupt("plan: property '{}' twice", at->first.substr(0, 200));
    }
    return {};
  }

  const fb::Plan& plan_;
  std::span<const std::byte> weights_;
  size_t budget_;
  bool stripped_ = false;
  Codes dtypes_, layouts_, ops_;
};

}  // namespace

Result<Program> decode_program(std::span<const std::byte> metadata, std::span<const std::byte> weights) {
  if (metadata.size() > plan_limits::kMaxMetadataBytes)
    return make_error(Code::kResourceExhausted, "plan: {} bytes of metadata, the limit is {}", metadata.size(),
                      plan_limits::kMaxMetadataBytes);
  const auto* bytes = reinterpret_cast<const uint8_t*>(metadata.data());
  // The smallest honest table is an offset to it and one in it.
  const auto most_tables = static_cast<flatbuffers::uoffset_t>(metadata.size() / 8 + 1);
  flatbuffers::Verifier verifier(bytes, metadata.size(), /*max_depth=*/64, most_tables);
  // The check of the identifier reads 8 bytes before the verifier looks at anything.
  if (metadata.size() < 16 || !fb::PlanBufferHasIdentifier(bytes) || !fb::VerifyPlanBuffer(verifier))
    return corrupt("plan: the metadata does not hold together");
  return Decoder(*fb::GetPlan(bytes), metadata.size(), weights).run();
}

}  // namespace wootz
