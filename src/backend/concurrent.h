// Providers whose kernels take long to make, a library's plan or machine code: they can be asked by several threads,
// and keep what they made for an offer until it is measured and run.
#pragma once

#include <memory>

#include "backend/kernel.h"

namespace wootz {

// A Provider that is one may be asked for tactics, and create kernels, by several threads at once.
class ConcurrentProvider {
 public:
  virtual ~ConcurrentProvider() = default;
  // While what this gives is held, the provider keeps what is dear to make on the device of these limits. Null: there
  // is nothing of that kind.
  virtual std::shared_ptr<const void> hold(const Limits& limits) const {
    (void)limits;
    return nullptr;
  }
};

// A Kernel of such a provider that has something to make ahead.
class PreparedKernel {
 public:
  virtual ~PreparedKernel() = default;
  // Makes what bind() at these extents needs and takes long to make, on any thread, for who holds on to it
  // (ConcurrentProvider::hold). Constants may be null. What fails here fails again in bind(), which says so.
  virtual void prepare(const BindArgs& args) const = 0;
};

// A Device that is to be measured on by one build at a time.
class LockedDevice {
 public:
  virtual ~LockedDevice() = default;
  // Tells it from all other devices of this machine, in every process. Empty: it needs no lock.
  virtual std::string lock_name() const = 0;
};

}  // namespace wootz
