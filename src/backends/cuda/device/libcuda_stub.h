// cuDNN compiles some of its kernels while it builds a plan, and wants a driver to be there for it. On a machine
// without one a stub of libcuda is opened in its place: shims/libcuda/.
#pragma once

namespace wootz::cuda {

// Opens it where no real driver is, once. False: it is not beside this library. Call before cuDNN is opened.
bool open_libcuda_stub();

}  // namespace wootz::cuda
