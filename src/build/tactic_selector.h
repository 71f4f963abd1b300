// The application's say in which tactics a build considers, and where it learns which were taken.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "tuner/choice.h"

namespace wootz {

// A layer while its tactic is chosen.
struct LayerOffer {
  std::string layer;
  const Problem* problem = nullptr;  // extents at the profile's optimum and at its maximum
  std::vector<Dims> least;           // of inputs, then outputs, at the profile's minimum
  std::vector<const Candidate*> candidates;
};

class TacticSelector {
 public:
  virtual ~TacticSelector() = default;
  // Numbers of the candidates that the layer may get. Errors end the build.
  virtual Result<std::vector<size_t>> select(const LayerOffer& offer) = 0;
  // What the layer got: the one of `candidates`, and its time in microseconds; 0: it was not timed.
  virtual void taken(const LayerOffer& offer, double us) = 0;
};

}  // namespace wootz
