// Attention, rotary embedding, key-value cache.
#include "api/network/add.h"
#include "api/network/attention.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: implements that interface, line by line

// The layer in the network's list: its inputs are Q, K, V and perhaps the mask.
class AttentionLayer final : public LayerBase<IAttentionOutputLayer> {
 public:
  AttentionLayer(NetworkImpl& network, AttentionImpl* attention, AttentionNormalizationOp op, bool is_causal)
      : LayerBase(network, LayerType::kATTENTION_OUTPUT, "Attention"),
        normalization(op),
        causal(is_causal),
        attention_(attention) {
    most_inputs = 4;
  }
  IAttention* getAttention() const noexcept override { return attention_; }
  AttentionNormalizationOp normalization;
  bool causal;

  Status emit(Emit& e) override {
    Value *q = e.in(0), *k = e.in(1), *v = e.in(2);
    for (size_t i = 0; i < 3; ++i)
      if (e.in(i)->rank() != 4)
        return e.fail("input {} is {}; [batch, heads, sequence, width] is expected", i,
                      shape_to_string(e.in(i)->shape()));
    if (causal && e.has(3)) return e.fail("a mask together with causal attention");
    if (normalization == AttentionNormalizationOp::kNONE) {
      if (causal || e.has(3)) return e.fail("a mask without normalization");
      if (!attention_->getDecomposable())
        return e.fail(
            "no kernel computes attention without normalization as one: IAttention::setDecomposable(true) allows two "
            "matrix products");
      Value* scores = e.op("MatMul", {q, k}, {{"trans_b", int64_t{1}}});
      e.out(0, e.op("MatMul", {scores, v}));
      return e.status();
    }
    std::vector<Value*> values{q, k, v};
    if (e.has(3)) values.push_back(e.in(3));
    e.out(0, e.op("Attention", std::move(values), {{"scale", 1.0}, {"causal", int64_t{causal}}}));
    return e.status();
  }

 private:
  AttentionImpl* attention_;
};

bool AttentionImpl::setNormalizationOperation(AttentionNormalizationOp op) noexcept {
  return take_enum(*layer_, "IAttention::setNormalizationOperation", "normalization", op, &layer_->normalization);
}
AttentionNormalizationOp AttentionImpl::getNormalizationOperation() const noexcept { return layer_->normalization; }
bool AttentionImpl::setMask(ITensor& mask) noexcept {
  return attempt(network_.reporter(), "IAttention::setMask", [&] { return layer_->replace_input(3, mask); });
}
ITensor* AttentionImpl::getMask() noexcept { return layer_->inputs.size() > 3 ? layer_->inputs[3] : nullptr; }
bool AttentionImpl::setCausal(bool isCausal) noexcept {
  layer_->causal = isCausal;
  layer_->changed();
  return true;
}
bool AttentionImpl::getCausal() const noexcept { return layer_->causal; }
Result<bool> AttentionImpl::is_causal(CausalMaskKind kind) {
  if (kind == kLowerRight) return unsupported("causal masks that end at the lower right corner are not offered");
  if (kind != kNoMask && kind != kUpperLeft)
    return invalid_argument("there is no causal mask {}", static_cast<int32_t>(kind));
  return kind == kUpperLeft;
}
bool AttentionImpl::setCausalKind(CausalMaskKind kind) noexcept {
  return attempt(network_.reporter(), "IAttention::setCausalKind", [&]() -> Status {
    WOOTZ_ASSIGN_OR_RETURN(const bool causal, is_causal(kind));
    setCausal(causal);
    return Status();
  });
}
CausalMaskKind AttentionImpl::getCausalKind() const noexcept { return layer_->causal ? kUpperLeft : kNoMask; }

namespace {

bool take_form(const Reporter& reporter, const char* call, AttentionIOForm form) noexcept {
  return attempt(reporter, call, [&] {
    return form == AttentionImpl::kPadded ? Status() : unsupported("packed sequences are not offered");
  });
}
bool take_lengths(const Reporter& reporter, const char* call, const ITensor* lengths) noexcept {
  return attempt(reporter, call, [&] {
    return lengths == nullptr ? Status()
                              : unsupported("lengths of the sequences of a batch are not offered; use a mask");
  });
}

}  // namespace

bool AttentionImpl::setQueryForm(AttentionIOForm form) noexcept {
  return take_form(network_.reporter(), "IAttention::setQueryForm", form);
}
bool AttentionImpl::setKeyValueForm(AttentionIOForm form) noexcept {
  return take_form(network_.reporter(), "IAttention::setKeyValueForm", form);
}
bool AttentionImpl::setQueryLengths(ITensor* lengths) noexcept {
  return take_lengths(network_.reporter(), "IAttention::setQueryLengths", lengths);
}
bool AttentionImpl::setKeyValueLengths(ITensor* lengths) noexcept {
  return take_lengths(network_.reporter(), "IAttention::setKeyValueLengths", lengths);
}
bool AttentionImpl::setDecomposable(bool decomposable) noexcept {
  decomposable_ = decomposable;
  layer_->changed();
  return true;
}
bool AttentionImpl::setInput(int32_t index, ITensor& input) noexcept {
  return attempt(network_.reporter(), "IAttention::setInput", [&]() -> Status {
    if (index < 0 || index > 2) return invalid_argument("there is no input {}", index);
    return layer_->replace_input(index, input);
  });
}
ITensor* AttentionImpl::getInput(int32_t index) const noexcept {
  return index >= 0 && index < 3 ? layer_->inputs[static_cast<size_t>(index)] : nullptr;
}
ITensor* AttentionImpl::getOutput(int32_t index) const noexcept { return layer_->getOutput(index); }
bool AttentionImpl::setName(const char* name) noexcept {
  layer_->setName(name);
  return name != nullptr;
}
const char* AttentionImpl::getName() const noexcept { return layer_->getName(); }
bool AttentionImpl::setNormalizationQuantizeScale(ITensor&) noexcept {
  return attempt(network_.reporter(), "IAttention::setNormalizationQuantizeScale",
                 [] { return unsupported("the normalized scores are not quantized here"); });
}
bool AttentionImpl::setNormalizationQuantizeToType(DataType) noexcept {
  return attempt(network_.reporter(), "IAttention::setNormalizationQuantizeToType",
                 [] { return unsupported("the normalized scores are not quantized here"); });
}
bool AttentionImpl::setMetadata(const char* metadata) noexcept {
  layer_->setMetadata(metadata);
  return metadata != nullptr;
}
const char* AttentionImpl::getMetadata() const noexcept { return layer_->getMetadata(); }

namespace {

class RotaryEmbeddingLayer final : public LayerBase<IRotaryEmbeddingLayer> {
 public:
  RotaryEmbeddingLayer(NetworkImpl& network, bool interleaved, int32_t dim)
      : LayerBase(network, LayerType::kROTARY_EMBEDDING, "RotaryEmbedding"), interleaved_(interleaved), dim_(dim) {
    most_inputs = 4;
  }
  WOOTZ_SETTING(bool, Interleaved, interleaved_)
  static Status check(int32_t dim) {
    return dim >= 0 && dim % 2 == 0 ? Status() : invalid_argument("a rotated width of {}; it must be even", dim);
  }
  bool setRotaryEmbeddingDim(int32_t rotaryEmbeddingDim) noexcept override {
    return attempt(network().reporter(), "IRotaryEmbeddingLayer::setRotaryEmbeddingDim", [&]() -> Status {
      if (Status status = check(rotaryEmbeddingDim); !status.ok()) return status.with_prefix(place());
      dim_ = rotaryEmbeddingDim;
      changed();
      return Status();
    });
  }
  int32_t getRotaryEmbeddingDim() const noexcept override { return dim_; }

  Status emit(Emit& e) override {
    Value* x = e.in(0);
    if (x->rank() != 4 || !x->shape()[3].is_const())
      return e.fail("input {}; [batch, heads, sequence, width] with a known width is expected",
                    shape_to_string(x->shape()));
    const int64_t width = x->shape()[3].value(), turned = dim_ == 0 ? width : dim_;
    if (turned > width || turned % 2 != 0) return e.fail("{} of {} elements cannot be rotated in pairs", turned, width);
    const auto table = [&](size_t i) {  // [batch, 1, sequence, turned / 2], or without the batch
      Value* t = e.has(3) ? e.op("Gather", {e.in(i), e.in(3)}, {{"axis", int64_t{0}}}) : e.in(i);
      return t != nullptr && t->rank() == 3 ? e.unsqueeze(t, {1}) : t;
    };
    Value *cosines = table(1), *sines = table(2);
    const auto part = [&](Value* v, int64_t start, int64_t end, int64_t step) {
      return e.op("Slice", {v},
                  {{"starts", std::vector<int64_t>{start}},
                   {"ends", std::vector<int64_t>{end}},
                   {"axes", std::vector<int64_t>{3}},
                   {"steps", std::vector<int64_t>{step}}});
    };
    Value* a = interleaved_ ? part(x, 0, turned, 2) : part(x, 0, turned / 2, 1);
    Value* b = interleaved_ ? part(x, 1, turned, 2) : part(x, turned / 2, turned, 1);
    Value* first = e.op("Sub", {e.op("Mul", {a, cosines}), e.op("Mul", {b, sines})});
    Value* second = e.op("Add", {e.op("Mul", {b, cosines}), e.op("Mul", {a, sines})});
    Value* y = nullptr;
    if (interleaved_) {
      Value* pairs = e.op("Concat", {e.unsqueeze(first, {4}), e.unsqueeze(second, {4})}, {{"axis", int64_t{4}}});
      y = e.reshape(pairs, {0, 0, 0, turned});
    } else {
      y = e.op("Concat", {first, second}, {{"axis", int64_t{3}}});
    }
    if (turned < width) y = e.op("Concat", {y, part(x, turned, width, 1)}, {{"axis", int64_t{3}}});
    e.out(0, y);
    return e.status();
  }

 private:
  bool interleaved_;
  int32_t dim_;
};

class KVCacheUpdateLayer final : public LayerBase<IKVCacheUpdateLayer> {
 public:
  explicit KVCacheUpdateLayer(NetworkImpl& network) : LayerBase(network, LayerType::kKVCACHE_UPDATE, "KVCacheUpdate") {}
  bool setCacheMode(KVCacheMode cacheMode) noexcept override {
    return take_enum(*this, "IKVCacheUpdateLayer::setCacheMode", "cache mode", cacheMode, &mode_);
  }
  KVCacheMode getCacheMode() const noexcept override { return mode_; }
  bool setUpdateForm(AttentionIOForm form) noexcept override {
    return take_form(network().reporter(), "IKVCacheUpdateLayer::setUpdateForm", form);
  }
  AttentionIOForm getUpdateForm() const noexcept override { return AttentionImpl::kPadded; }
  bool setUpdateLengths(ITensor* lengths) noexcept override {
    return take_lengths(network().reporter(), "IKVCacheUpdateLayer::setUpdateLengths", lengths);
  }
  ITensor* getUpdateLengths() const noexcept override { return nullptr; }
  Status emit(Emit& e) override {
    e.out(0, e.op("TensorScatter", {e.in(0), e.in(1), e.cast(e.in(2), DType::kI64)},
                  {{"axis", int64_t{2}}, {"mode", std::string("linear")}}));
    return e.status();
  }

 private:
  KVCacheMode mode_ = KVCacheMode::kLINEAR;
};

}  // namespace

IAttention* NetworkImpl::addAttention(ITensor& query, ITensor& key, ITensor& value, AttentionNormalizationOp normOp,
                                      bool causal) noexcept {
  return addAttentionV2(query, key, value, normOp, causal ? AttentionImpl::kUpperLeft : AttentionImpl::kNoMask);
}
IAttention* NetworkImpl::addAttentionV2(ITensor& query, ITensor& key, ITensor& value, AttentionNormalizationOp normOp,
                                        CausalMaskKind causalKind) noexcept {
  return add_or_null<IAttention>(*this, "INetworkDefinition::addAttention", [&]() -> Result<IAttention*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&query, &key, &value}));
    WOOTZ_RETURN_IF_ERROR(check_enum(normOp, "normalization"));
    WOOTZ_ASSIGN_OR_RETURN(const bool causal, AttentionImpl::is_causal(causalKind));
    AttentionImpl* attention = attentions.emplace_back(std::make_unique<AttentionImpl>(*this)).get();
    attention->attach(add_layer<AttentionLayer>(std::move(inputs), 1, attention, normOp, causal));
    return attention;
  });
}

IRotaryEmbeddingLayer* NetworkImpl::addRotaryEmbedding(ITensor& input, ITensor& cosCache, ITensor& sinCache,
                                                       bool interleaved, int32_t rotaryEmbeddingDim) noexcept {
  return add_or_null<IRotaryEmbeddingLayer>(
      *this, "INetworkDefinition::addRotaryEmbedding", [&]() -> Result<IRotaryEmbeddingLayer*> {
        WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input, &cosCache, &sinCache}));
        WOOTZ_RETURN_IF_ERROR(RotaryEmbeddingLayer::check(rotaryEmbeddingDim));
        return add_layer<RotaryEmbeddingLayer>(std::move(inputs), 1, interleaved, rotaryEmbeddingDim);
      });
}

IKVCacheUpdateLayer* NetworkImpl::addKVCacheUpdate(ITensor& cache, ITensor& update, ITensor& writeIndices,
                                                   KVCacheMode cacheMode) noexcept {
  return add_or_null<IKVCacheUpdateLayer>(
      *this, "INetworkDefinition::addKVCacheUpdate", [&]() -> Result<IKVCacheUpdateLayer*> {
        WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&cache, &update, &writeIndices}));
        WOOTZ_RETURN_IF_ERROR(check_enum(cacheMode, "cache mode"));
        return add_layer<KVCacheUpdateLayer>(std::move(inputs), 1);
      });
}

}  // namespace wootz::api
