// cuDNN compiles some of its kernels while it builds a plan, and wants a driver to be there for it. On a machine
// without one, a library of ours that only says yes stands in for it: shims/libcuda/.
#pragma once

namespace wootz::cuda {

// Opens it where no real driver is, once. False: it is not beside this library. Call before cuDNN is opened.
bool open_null_driver();

}  // namespace wootz::cuda
