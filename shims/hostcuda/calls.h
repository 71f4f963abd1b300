// The functions of the table, as the library knows them: those that CUDA 13 has under their own names.
#pragma once

#include "driver_types.h"

namespace wootz::hostcuda {

#define FN(name, parameters, arguments) cudaError_t name parameters;
#define FN_STREAM FN
#define FN_BLOCK FN
#define FN_13 FN
#define FN_13_STREAM FN
#define FN_OLD(symbol, name, parameters, arguments) cudaError_t name parameters;
#define FN_OLD_STREAM FN_OLD
#define FN_12 FN_OLD
#define FN_11 FN_OLD
#include "functions.def"
#undef FN
#undef FN_STREAM
#undef FN_BLOCK
#undef FN_13
#undef FN_13_STREAM
#undef FN_OLD
#undef FN_OLD_STREAM
#undef FN_12
#undef FN_11

// Of the calling thread: null stands for its own default stream while one of these lives.
class OwnDefaultStream {
 public:
  OwnDefaultStream();
  ~OwnDefaultStream();
};
bool null_is_own_stream();

}  // namespace wootz::hostcuda
