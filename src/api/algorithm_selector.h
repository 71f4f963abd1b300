// The application's IAlgorithmSelector as what a build asks.
#pragma once

#include <memory>
#include <vector>

#include "api/public.h"
#include "build/tactic_selector.h"

namespace wootz::api {

class AlgorithmImpl;
class AlgorithmContextImpl;

class SelectorAdapter final : public TacticSelector {
 public:
  SelectorAdapter(nvinfer1::IAlgorithmSelector& selector, bool reject_empty);
  ~SelectorAdapter() override;
  Result<std::vector<size_t>> select(const LayerOffer& offer) override;
  void taken(const LayerOffer& offer, double us) override;
  // To be called when the build has succeeded.
  void report();

 private:
  nvinfer1::IAlgorithmSelector& selector_;
  bool reject_empty_;
  std::vector<std::unique_ptr<AlgorithmContextImpl>> contexts_;
  std::vector<std::unique_ptr<AlgorithmImpl>> choices_;
};

}  // namespace wootz::api
