#include "api/algorithm_selector.h"

#include <cstring>
#include <optional>

#include "api/runtime/convert.h"
#include "plan/digest.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: implements that interface, line by line

namespace {

int64_t number_of(const std::string& text) {
  const Digest digest = plain_digest(std::as_bytes(std::span(text)));
  int64_t number = 0;
  std::memcpy(&number, digest.data(), sizeof number);
  return number;
}

}  // namespace

class IoInfoImpl final : public IAlgorithmIOInfo {
 public:
  IoInfoImpl(const TensorDesc& desc, Layout layout)
      : type_(desc.dtype == DType::kInvalid ? DataType::kFLOAT : to_api(desc.dtype)),
        together_(channel_multiple(layout)) {
    const bool open = desc.dynamic() || layout == Layout::kOpaque;
    const wootz::Dims strides = open ? wootz::Dims{} : layout_strides(layout, desc.dims);
    strides_ = strides.rank() == desc.dims.rank() ? to_api(strides) : bad_dims();
  }
  DataType getDataType() const noexcept override { return type_; }
  nvinfer1::Dims getStrides() const noexcept override { return strides_; }
  int64_t getVectorizedDim() const noexcept override { return together_ > 1 ? 1 : -1; }
  int64_t getComponentsPerElement() const noexcept override { return together_; }

 private:
  DataType type_;
  int64_t together_;
  nvinfer1::Dims strides_{};
};

// The kernel; and its configuration with the layouts that it reads and gives.
class VariantImpl final : public IAlgorithmVariant {
 public:
  explicit VariantImpl(const Candidate& candidate)
      : implementation_(number_of(candidate.tactic.provider + ":" + candidate.tactic.kernel)) {
    std::string text = candidate.tactic.config;
    for (const auto* layouts : {&candidate.input_layouts, &candidate.output_layouts}) {
      text += '|';
      for (const Layout layout : *layouts) text += fmt::format("{},", layout_name(layout));
    }
    tactic_ = number_of(text);
  }
  int64_t getImplementation() const noexcept override { return implementation_; }
  int64_t getTactic() const noexcept override { return tactic_; }

 private:
  int64_t implementation_, tactic_;
};

class AlgorithmImpl final : public IAlgorithm {
 public:
  AlgorithmImpl(const Problem& problem, const Candidate& candidate, double us)
      : variant_(candidate), ms_(static_cast<float>(us * 1e-3)), workspace_(candidate.workspace) {
    const auto add = [&](const std::vector<TensorDesc>& descs, const std::vector<Layout>& layouts) {
      for (size_t i = 0; i < descs.size(); ++i)
        ios_.push_back(std::make_unique<IoInfoImpl>(descs[i], i < layouts.size() ? layouts[i] : Layout::kLinear));
    };
    add(problem.inputs, candidate.input_layouts);
    add(problem.outputs, candidate.output_layouts);
  }
  const IAlgorithmVariant& getAlgorithmVariant() const noexcept override { return variant_; }
  float getTimingMSec() const noexcept override { return ms_; }
  std::size_t getWorkspaceSize() const noexcept override { return workspace_; }
  const IAlgorithmIOInfo* getAlgorithmIOInfoByIndex(int32_t index) const noexcept override {
    return index >= 0 && static_cast<size_t>(index) < ios_.size() ? ios_[static_cast<size_t>(index)].get() : nullptr;
  }

 private:
  VariantImpl variant_;
  float ms_;
  size_t workspace_;
  std::vector<std::unique_ptr<IoInfoImpl>> ios_;
};

class AlgorithmContextImpl final : public IAlgorithmContext {
 public:
  explicit AlgorithmContextImpl(const LayerOffer& offer)
      : name_(offer.layer), inputs_(offer.problem->inputs.size()), least_(offer.least) {
    for (const auto* descs : {&offer.problem->inputs, &offer.problem->outputs})
      for (const TensorDesc& desc : *descs) {
        best_.push_back(desc.dims);
        most_.push_back(desc.max_dims);
      }
  }
  const char* getName() const noexcept override { return name_.c_str(); }
  nvinfer1::Dims getDimensions(int32_t index, OptProfileSelector select) const noexcept override {
    const std::vector<wootz::Dims>& all = select == OptProfileSelector::kMIN   ? least_
                                          : select == OptProfileSelector::kOPT ? best_
                                                                               : most_;
    return index >= 0 && static_cast<size_t>(index) < all.size() ? to_api(all[static_cast<size_t>(index)]) : bad_dims();
  }
  int32_t getNbInputs() const noexcept override { return static_cast<int32_t>(inputs_); }
  int32_t getNbOutputs() const noexcept override { return static_cast<int32_t>(best_.size() - inputs_); }

 private:
  std::string name_;
  size_t inputs_;
  std::vector<wootz::Dims> least_, best_, most_;
};

SelectorAdapter::SelectorAdapter(IAlgorithmSelector& selector, bool reject_empty)
    : selector_(selector), reject_empty_(reject_empty) {}
SelectorAdapter::~SelectorAdapter() = default;

Result<std::vector<size_t>> SelectorAdapter::select(const LayerOffer& offer) {
  const AlgorithmContextImpl context(offer);
  std::vector<std::unique_ptr<AlgorithmImpl>> choices;
  std::vector<const IAlgorithm*> list;
  for (const Candidate* candidate : offer.candidates) {
    choices.push_back(std::make_unique<AlgorithmImpl>(*offer.problem, *candidate, 0));
    list.push_back(choices.back().get());
  }
  std::vector<int32_t> picked(list.size(), -1);
  const auto count = static_cast<int32_t>(list.size());
  const int32_t given = selector_.selectAlgorithms(context, list.data(), count, picked.data());
  if (given < 0 || given > count)
    return invalid_argument("layer '{}': IAlgorithmSelector::selectAlgorithms answers {} of {} algorithms", offer.layer,
                            given, count);
  std::vector<size_t> selected;
  for (int32_t i = 0; i < given; ++i) {
    const int32_t at = picked[static_cast<size_t>(i)];
    if (at < 0 || at >= count)
      return invalid_argument("layer '{}': IAlgorithmSelector::selectAlgorithms picks algorithm {} of {}", offer.layer,
                              at, count);
    selected.push_back(static_cast<size_t>(at));
  }
  if (selected.empty() && reject_empty_)
    return invalid_argument(
        "layer '{}': IAlgorithmSelector::selectAlgorithms picks none of {} algorithms, and "
        "BuilderFlag::kREJECT_EMPTY_ALGORITHMS is set",
        offer.layer, count);
  for (size_t i = 0; selected.size() < list.size() && given == 0; ++i) selected.push_back(i);  // the build decides
  return selected;
}

void SelectorAdapter::taken(const LayerOffer& offer, double us) {
  contexts_.push_back(std::make_unique<AlgorithmContextImpl>(offer));
  choices_.push_back(std::make_unique<AlgorithmImpl>(*offer.problem, *offer.candidates[0], us));
}

void SelectorAdapter::report() {
  std::vector<const IAlgorithmContext*> contexts;
  std::vector<const IAlgorithm*> choices;
  for (const auto& context : contexts_) contexts.push_back(context.get());
  for (const auto& choice : choices_) choices.push_back(choice.get());
  selector_.reportAlgorithms(contexts.data(), choices.data(), static_cast<int32_t>(choices.size()));
}

}  // namespace wootz::api
