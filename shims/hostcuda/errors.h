// Names and meanings of errors, and the last one of each thread.
#pragma once

#include "driver_types.h"

namespace wootz::hostcuda {

void set_last_error(cudaError_t error);
cudaError_t last_error();
cudaError_t take_last_error();  // and forgets it

const char* error_name(cudaError_t error);
const char* error_text(cudaError_t error);

}  // namespace wootz::hostcuda
