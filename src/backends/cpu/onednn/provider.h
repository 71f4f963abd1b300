// The provider "onednn": convolutions, matrix products and pooling by oneDNN.
#pragma once

#include "backend/kernel.h"

namespace wootz::cpu {

const Provider& onednn_provider();

}  // namespace wootz::cpu
