// What objects of Python's keep by name, where the library knows nothing of it.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "casters.h"
#include "shared.h"

namespace wootz_python {

// By owner, whose entry goes with it. One of each T: where an object has several kinds of them, names tell them apart.
template <class T>
class Kept {
 public:
  using Named = std::map<std::string, T>;

  // In the place of what had the name.
  static void keep(nb::handle owner, const char* name, T value) {
    bool first = false;
    {
      const std::lock_guard lock(kept().mutex);
      const auto [at, made] = kept().all.try_emplace(owner.ptr());
      std::swap(at->second[name], value);  // what was there goes after the lock
      first = made;
    }
    if (first) nb::keep_alive_cb(owner, owner.ptr(), drop);
  }

  static void forget(nb::handle owner, const char* name) {
    typename Named::node_type gone;
    const std::lock_guard lock(kept().mutex);
    if (const auto at = kept().all.find(owner.ptr()); at != kept().all.end()) gone = at->second.extract(name);
  }

  static Named of(nb::handle owner) {
    const std::lock_guard lock(kept().mutex);
    const auto at = kept().all.find(owner.ptr());
    return at == kept().all.end() ? Named() : at->second;
  }

  // T() where there is none.
  static T of(nb::handle owner, const char* name) {
    const std::lock_guard lock(kept().mutex);
    const auto at = kept().all.find(owner.ptr());
    if (at == kept().all.end()) return T();
    const auto named = at->second.find(name);
    return named == at->second.end() ? T() : named->second;
  }

 private:
  using All = Shared<std::unordered_map<PyObject*, Named>>;

  // Never destroyed: the interpreter may be gone before static objects are.
  static All& kept() {
    static auto* const all = new All;
    return *all;
  }

  static void drop(void* owner) noexcept {
    Named dropped;
    const std::lock_guard lock(kept().mutex);
    const auto at = kept().all.find(static_cast<PyObject*>(owner));
    if (at == kept().all.end()) return;
    dropped = std::move(at->second);
    kept().all.erase(at);
  }
};

}  // namespace wootz_python
