// Constants in a form of the kernel's own.
#pragma once

#include "backend/kernel.h"

namespace wootz::cuda {

// A constant that was packed has the bytes of the one it was made of, and kernels read no further. In a plan file it
// may have others. But for operand `but`, of which the kernel keeps less and looks at its bytes itself.
inline Status check_packed(const Problem& p, const BindArgs& args, int but = -1) {
  for (size_t i = 0; i < p.inputs.size() && i < args.constant_bytes.size(); ++i) {
    if (static_cast<int>(i) == but || !p.inputs[i].constant || args.constants[i] == nullptr || i >= args.inputs.size())
      continue;
    if (args.constant_bytes[i] < dtype_bytes(p.inputs[i].dtype, args.inputs[i].volume()))
      return invalid_argument("{} bytes of packed weights for {}", args.constant_bytes[i], args.inputs[i].to_string());
  }
  return Status();
}

}  // namespace wootz::cuda
