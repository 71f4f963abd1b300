// IRefitter: offers of weights, and the build that makes a program of them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/public.h"
#include "api/runtime/reporter.h"
#include "backend/refit.h"
#include "base/function_ref.h"
#include "ir/graph.h"

namespace wootz::api {

class EngineImpl;

class RefitterImpl final : public nvinfer1::IRefitter {
 public:
  // Of a refittable engine.
  RefitterImpl(EngineImpl& engine, AppLogger logger);

  bool setNamedWeights(const char* name, nvinfer1::Weights weights) noexcept override;
  bool setNamedWeights(const char* name, nvinfer1::Weights weights,
                       nvinfer1::TensorLocation location) noexcept override;
  nvinfer1::Weights getNamedWeights(const char* weightsName) const noexcept override;
  nvinfer1::TensorLocation getWeightsLocation(const char* weightsName) const noexcept override;
  bool unsetNamedWeights(const char* weightsName) noexcept override;
  nvinfer1::Weights getWeightsPrototype(const char* weightsName) const noexcept override;
  int32_t getMissingWeights(int32_t size, const char** weightsNames) noexcept override;
  int32_t getAllWeights(int32_t size, const char** weightsNames) noexcept override;
  bool setWeights(const char* layerName, nvinfer1::WeightsRole role, nvinfer1::Weights weights) noexcept override;
  int32_t getMissing(int32_t size, const char** layerNames, nvinfer1::WeightsRole* roles) noexcept override;
  int32_t getAll(int32_t size, const char** layerNames, nvinfer1::WeightsRole* roles) noexcept override;
  bool refitCudaEngine() noexcept override;
  bool refitCudaEngineAsync(cudaStream_t stream) noexcept override;
  void setWeightsValidation(bool weightsValidation) noexcept override { validation_ = weightsValidation; }
  bool getWeightsValidation() const noexcept override { return validation_; }
  bool setMaxThreads(int32_t maxThreads) noexcept override;
  int32_t getMaxThreads() const noexcept override { return max_threads_; }
  bool setDynamicRange(const char* tensorName, float min, float max) noexcept override;
  float getDynamicRangeMin(const char* tensorName) const noexcept override;
  float getDynamicRangeMax(const char* tensorName) const noexcept override;
  int32_t getTensorsWithDynamicRange(int32_t, const char**) const noexcept override { return 0; }
  nvinfer1::ILogger* getLogger() const noexcept override { return reporter_.logger(); }
  void setErrorRecorder(nvinfer1::IErrorRecorder* recorder) noexcept override { reporter_.set_recorder(recorder); }
  nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override { return reporter_.recorder(); }

  // The constants of a model that was imported as the plan's was, by the names of its values: offers those that are
  // weights. Errors: constants that are no refittable weights and are others.
  Status offer_all(const Graph& model);

 private:
  struct Offer {
    nvinfer1::Weights weights;
    nvinfer1::TensorLocation location;
  };
  const RefitRecipe& recipe() const;
  const RefitConstant& constant(size_t weight) const;
  std::optional<size_t> find(const char* name) const;
  Status offer_each(FunctionRef<bool(const RefitWeight&)> meant, const nvinfer1::Weights& weights,
                    nvinfer1::TensorLocation location);
  Status offer(size_t weight, const nvinfer1::Weights& weights, nvinfer1::TensorLocation location);
  std::vector<uint8_t> all() const;  // by weight: refittable
  std::vector<uint8_t> missing() const;
  int32_t list_names(std::span<const uint8_t> which, int32_t size, const char** names) const;
  int32_t list_roles(std::span<const uint8_t> which, int32_t size, const char** layers,
                     nvinfer1::WeightsRole* roles) const;
  std::string names_of(std::span<const uint8_t> which) const;
  std::string offered_names() const;
  Status check_identical(size_t weight, const HostTensor& tensor) const;
  Result<HostTensor> offered(size_t weight) const;
  Status refit(cudaStream_t stream, bool async);

  EngineImpl& engine_;
  Reporter reporter_;
  const std::vector<RefitWeight>& weights_;   // the engine's
  std::vector<std::optional<Offer>> offers_;  // by weight
  bool validation_ = true;
  int32_t max_threads_;
};

}  // namespace wootz::api
