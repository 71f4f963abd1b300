// A function for the host in a shared library that a plan brings along as bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace wootz::api {

class HostFunction {
 public:
  // Opens the library. Errors: it is none for this machine, or has no such function.
  static Result<std::shared_ptr<HostFunction>> open(const std::string& name, std::string_view library);
  ~HostFunction();
  HostFunction(const HostFunction&) = delete;
  HostFunction& operator=(const HostFunction&) = delete;

  static constexpr size_t kMostArguments = 24;
  // Each argument is an address or an integer.
  void call(const std::vector<uint64_t>& arguments) const;

 private:
  HostFunction(void* library, void* function, int file) : library_(library), function_(function), file_(file) {}
  void* library_;
  void* function_;
  int file_;  // open as long as the library is: the loader knows libraries by their paths
};

}  // namespace wootz::api
