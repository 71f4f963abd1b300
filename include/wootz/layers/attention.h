// IAttention with its boundary layers, IRotaryEmbeddingLayer, IKVCacheUpdateLayer.
#pragma once

#include "wootz/layer.h"
#include "wootz/level.h"

namespace nvinfer1 {

class IAttention;

/// What is done to the scores before they meet the values.
enum class AttentionNormalizationOp : int32_t {
  /// Nothing.
  kNONE = 0,
  /// Softmax along the keys.
  kSOFTMAX = 1,
};

template <>
struct impl::EnumMaxImpl<AttentionNormalizationOp> {
  static constexpr int32_t kVALUE = 2;
};

#if NV_TENSORRT_MAJOR >= 11
/// Which keys a query may see.
enum class CausalMaskKind : int32_t {
  /// All.
  kNONE = 0,
  /// Query i sees keys 0 to i.
  kUPPER_LEFT = 1,
  /// The last query sees all keys, the one before it all but the last, and so on.
  kLOWER_RIGHT = 2,
};

template <>
struct impl::EnumMaxImpl<CausalMaskKind> {
  static constexpr int32_t kVALUE = 3;
};

/// How sequences of different lengths lie in one tensor.
enum class AttentionIOForm : int32_t {
  /// [batch, heads, length, width], short ones padded.
  kPADDED_BHND = 0,
  /// [total length, heads, width], one sequence after the other.
  kPACKED_NHD = 1,
};

template <>
struct impl::EnumMaxImpl<AttentionIOForm> {
  static constexpr int32_t kVALUE = 2;
};
#else
enum class CausalMaskKind : int32_t;
enum class AttentionIOForm : int32_t;
#endif

/// A layer through which values enter or leave an attention.
class IAttentionBoundaryLayer : public ILayer {
 public:
  /// The attention it belongs to.
  virtual IAttention* getAttention() const noexcept = 0;

 protected:
  ~IAttentionBoundaryLayer() noexcept override = default;
};

/// Takes in queries, keys and values.
class IAttentionInputLayer : public IAttentionBoundaryLayer {
 protected:
  ~IAttentionInputLayer() noexcept override = default;
};

/// Gives out the result.
class IAttentionOutputLayer : public IAttentionBoundaryLayer {
 protected:
  ~IAttentionOutputLayer() noexcept override = default;
};

/// normalize(Q * K^T + mask) * V, computed as one where possible. Q is [batch, heads, queries, width], K and V are
/// [batch, key heads, keys, width], where heads is a multiple of key heads. Scaling Q is up to the caller. Owned by the
/// network.
class IAttention : public INoCopy {
 public:
  /// False when not supported.
  virtual bool setNormalizationOperation(AttentionNormalizationOp op) noexcept = 0;
  virtual AttentionNormalizationOp getNormalizationOperation() const noexcept = 0;

  /// A mask that broadcasts to [batch, heads, queries, keys]: kBOOL, where false blocks, or of Q's type, to be added.
  /// Null when there is none.
  virtual bool setMask(ITensor& mask) noexcept = 0;
  virtual ITensor* getMask() noexcept = 0;

  /// Whether a query sees earlier keys only; not together with a mask.
  WOOTZ_DEPRECATED_SINCE_11 virtual bool setCausal(bool isCausal) noexcept = 0;
  WOOTZ_DEPRECATED_SINCE_11 virtual bool getCausal() const noexcept = 0;

  /// Whether separate matrix products may be used where no fused kernel fits; false by default, which fails the build
  /// there.
  virtual bool setDecomposable(bool decomposable) noexcept = 0;
  virtual bool getDecomposable() const noexcept = 0;

  /// Replaces input `index`: 0 Q, 1 K, 2 V. False when out of range.
  virtual bool setInput(int32_t index, ITensor& input) noexcept = 0;
  virtual int32_t getNbInputs() const noexcept = 0;
  virtual ITensor* getInput(int32_t index) const noexcept = 0;

  /// Number of outputs, and one of them; null when out of range.
  virtual int32_t getNbOutputs() const noexcept = 0;
  virtual ITensor* getOutput(int32_t index) const noexcept = 0;

  /// Name for messages; copied.
  virtual bool setName(const char* name) noexcept = 0;
  virtual const char* getName() const noexcept = 0;

  /// Quantization of the normalized scores: a scale, and kFP8 or kINT8.
  virtual bool setNormalizationQuantizeScale(ITensor& tensor) noexcept = 0;
  virtual ITensor* getNormalizationQuantizeScale() const noexcept = 0;
  virtual bool setNormalizationQuantizeToType(DataType type) noexcept = 0;
  virtual DataType getNormalizationQuantizeToType() const noexcept = 0;

  /// Any text, copied, that the inspector shows.
  virtual bool setMetadata(const char* metadata) noexcept = 0;
  virtual const char* getMetadata() const noexcept = 0;

  /// How many devices it spans; 1 by default.
  virtual bool setNbRanks(int32_t nbRanks) noexcept = 0;
  virtual int32_t getNbRanks() const noexcept = 0;

  WOOTZ_SINCE_11
  /// Which keys a query sees. False, with a reason in the log, for kinds that this version cannot build.
  virtual bool setCausalKind(CausalMaskKind kind) noexcept = 0;
  virtual CausalMaskKind getCausalKind() const noexcept = 0;

  /// Form of the queries, and of keys and values. This version builds kPADDED_BHND, the default, only: false for
  /// others.
  virtual bool setQueryForm(AttentionIOForm form) noexcept = 0;
  virtual AttentionIOForm getQueryForm() const noexcept = 0;
  virtual bool setKeyValueForm(AttentionIOForm form) noexcept = 0;
  virtual AttentionIOForm getKeyValueForm() const noexcept = 0;

  /// Lengths of the sequences of a batch; null, the default: all have the whole length. Others this version refuses.
  virtual bool setQueryLengths(ITensor* lengths) noexcept = 0;
  virtual ITensor* getQueryLengths() const noexcept = 0;
  virtual bool setKeyValueLengths(ITensor* lengths) noexcept = 0;
  virtual ITensor* getKeyValueLengths() const noexcept = 0;

 protected:
  ~IAttention() noexcept override = default;
};

/// Rotates pairs of elements by position. Inputs: 0 [batch, heads, sequence, width], 1 cosines and 2 sines by position,
/// optional 3 the position of each element of the sequence.
class IRotaryEmbeddingLayer : public ILayer {
 public:
  /// Whether pairs are neighbours, rather than the same places of the two halves.
  virtual void setInterleaved(bool interleaved) noexcept = 0;
  virtual bool getInterleaved() const noexcept = 0;

  /// How much of the width is rotated; 0: all. False when odd or negative.
  virtual bool setRotaryEmbeddingDim(int32_t rotaryEmbeddingDim) noexcept = 0;
  virtual int32_t getRotaryEmbeddingDim() const noexcept = 0;

 protected:
  ~IRotaryEmbeddingLayer() noexcept override = default;
};

enum class KVCacheMode : int32_t {
  /// Elements stay in order of position.
  kLINEAR = 0,
};

template <>
struct impl::EnumMaxImpl<KVCacheMode> {
  static constexpr int32_t kVALUE = 1;
};

/// Writes new keys or values into a cache, in place. Inputs: 0 the cache [batch, heads, capacity, width], 1 the new
/// elements [batch, heads, new, width], 2 the position of the first of them, per batch. The output shares the cache's
/// memory.
class IKVCacheUpdateLayer : public ILayer {
 public:
  /// False when not supported.
  virtual bool setCacheMode(KVCacheMode cacheMode) noexcept = 0;
  virtual KVCacheMode getCacheMode() const noexcept = 0;

  WOOTZ_SINCE_11
  /// Form of the new elements. This version builds kPADDED_BHND, the default, only: false for others.
  virtual bool setUpdateForm(AttentionIOForm form) noexcept = 0;
  virtual AttentionIOForm getUpdateForm() const noexcept = 0;

  /// How many new elements each sequence of a batch has; null, the default: all of them. Others this version refuses.
  virtual bool setUpdateLengths(ITensor* lengths) noexcept = 0;
  virtual ITensor* getUpdateLengths() const noexcept = 0;

 protected:
  ~IKVCacheUpdateLayer() noexcept override = default;
};

}  // namespace nvinfer1
