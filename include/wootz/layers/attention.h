// IAttention with its boundary layers, IRotaryEmbeddingLayer, IKVCacheUpdateLayer.
#pragma once

#include "wootz/layer.h"

namespace nvinfer1 {

class IAttention;

enum class AttentionNormalizationOp : int32_t {
  kNONE = 0,
  kSOFTMAX = 1,
};

template <>
struct impl::EnumMaxImpl<AttentionNormalizationOp> {
  static constexpr int32_t kVALUE = 2;
};

class IAttentionBoundaryLayer : public ILayer {
 public:
  virtual IAttention* getAttention() const noexcept = 0;
};

class IAttentionInputLayer : public IAttentionBoundaryLayer {};

class IAttentionOutputLayer : public IAttentionBoundaryLayer {};

class IAttention : public INoCopy {
 public:
  virtual bool setNormalizationOperation(AttentionNormalizationOp op) noexcept = 0;
  virtual AttentionNormalizationOp getNormalizationOperation() const noexcept = 0;
  virtual bool setMask(ITensor& mask) noexcept = 0;
  virtual ITensor* getMask() noexcept = 0;
  virtual bool setCausal(bool isCausal) noexcept = 0;
  virtual bool getCausal() const noexcept = 0;
  virtual bool setDecomposable(bool decomposable) noexcept = 0;
  virtual bool getDecomposable() const noexcept = 0;
  virtual bool setInput(int32_t index, ITensor& input) noexcept = 0;
  virtual int32_t getNbInputs() const noexcept = 0;
  virtual ITensor* getInput(int32_t index) const noexcept = 0;
  virtual int32_t getNbOutputs() const noexcept = 0;
  virtual ITensor* getOutput(int32_t index) const noexcept = 0;
  virtual bool setName(const char* name) noexcept = 0;
  virtual const char* getName() const noexcept = 0;
  virtual bool setNormalizationQuantizeScale(ITensor& tensor) noexcept = 0;
  virtual ITensor* getNormalizationQuantizeScale() const noexcept = 0;
  virtual bool setNormalizationQuantizeToType(DataType type) noexcept = 0;
  virtual DataType getNormalizationQuantizeToType() const noexcept = 0;
  virtual bool setMetadata(const char* metadata) noexcept = 0;
  virtual const char* getMetadata() const noexcept = 0;
  virtual bool setNbRanks(int32_t nbRanks) noexcept = 0;
  virtual int32_t getNbRanks() const noexcept = 0;
};

class IRotaryEmbeddingLayer : public ILayer {
 public:
  virtual void setInterleaved(bool interleaved) noexcept = 0;
  virtual bool getInterleaved() const noexcept = 0;
  virtual bool setRotaryEmbeddingDim(int32_t rotaryEmbeddingDim) noexcept = 0;
  virtual int32_t getRotaryEmbeddingDim() const noexcept = 0;
};

enum class KVCacheMode : int32_t {
  kLINEAR = 0,
};

template <>
struct impl::EnumMaxImpl<KVCacheMode> {
  static constexpr int32_t kVALUE = 1;
};

class IKVCacheUpdateLayer : public ILayer {
 public:
  virtual bool setCacheMode(KVCacheMode cacheMode) noexcept = 0;
  virtual KVCacheMode getCacheMode() const noexcept = 0;
};

}  // namespace nvinfer1
