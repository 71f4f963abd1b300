// Machine code beside the plan data that it was made from, so that loading need not make it again.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace wootz {

// How much of it a build keeps with the plan.
enum class KeepNative : uint8_t {
  kNone,
  kReproducible,  // what equal sources always give the same bytes for
  kAll,           // also what libraries serialize, in which every build finds other bytes
};

// Whether the calling thread may read and write machine code that is kept on disk between processes.
class KeptCodeScope {
 public:
  explicit KeptCodeScope(bool allowed) : before_(allowed_) { allowed_ = allowed; }
  ~KeptCodeScope() { allowed_ = before_; }
  KeptCodeScope(const KeptCodeScope&) = delete;
  KeptCodeScope& operator=(const KeptCodeScope&) = delete;
  static bool allowed() { return allowed_; }

 private:
  bool before_;
  static inline thread_local bool allowed_ = true;
};

struct NativeCode {
  std::string key;                    // what it was made from and for: the backend's own text
  std::span<const std::byte> bytes;   // the backend's own format
  std::shared_ptr<const void> owner;  // keeps them alive
};

}  // namespace wootz
