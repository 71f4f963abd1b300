// Layouts of a network's inputs and outputs that the application has set.
#pragma once

#include <string>
#include <vector>

#include "tuner/choice.h"

namespace wootz {

// By the tensors' names: those that no list is kept for are row-major.
struct BorderWish {
  std::string tensor;
  std::vector<Layout> allowed;  // in order of preference
  bool direct = false;          // no reformat between the tensor and the layers that read or write it
};

// Gives each tensor of a wish the first of its layouts that kernels can bring it to and from. Errors: there is none.
Status set_border_layouts(Program* program, const std::vector<BorderWish>& wishes,
                          const std::vector<const Provider*>& providers, const Limits& limits);

// Once it is known what kernels are offered: tensors without reformats get a layout in which one of every layer beside
// them works, if there is one.
void settle_direct_layouts(Program* program, const std::vector<BorderWish>& wishes, const Choice& choice);

// After reformats were inserted. Errors: one stands between a tensor without and its layer.
Status check_direct(const Program& program, const std::vector<BorderWish>& wishes);

}  // namespace wootz
