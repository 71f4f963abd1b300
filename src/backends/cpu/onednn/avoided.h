// What oneDNN 3.2 computes wrong, or in memory that is not its own, by implementation and shape.
#pragma once

#include <string_view>

#include "backends/cpu/onednn/dense.h"

namespace wootz::cpu::dnn {

// Null: the implementation is right for the problem. Otherwise why it may not run: it would compute something else, or
// read or write beyond its operands. `weights`: their layout, or any.
const char* why_avoided(const DenseTraits& traits, const DenseSpec& spec, const memory::desc& weights,
                        std::string_view implementation);

// Goes on to the first implementation that is right, if there is one.
void skip_avoided(const DenseTraits& traits, const DenseSpec& spec, const memory::desc& weights,
                  dnnl::primitive_desc_base* primitive);

}  // namespace wootz::cpu::dnn
