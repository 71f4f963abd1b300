#include "errors.h"

#include <utility>

namespace wootz::hostcuda {
namespace {

thread_local cudaError_t g_last = cudaSuccess;

struct Meaning {
  cudaError_t error;
  const char* name;
  const char* text;
};
constexpr Meaning kMeanings[] = {
#define ERROR(name, text) {name, #name, text},
#include "errors.def"
#undef ERROR
};

const Meaning* find(cudaError_t error) {
  for (const Meaning& meaning : kMeanings)
    if (meaning.error == error) return &meaning;
  return nullptr;
}

}  // namespace

void set_last_error(cudaError_t error) { g_last = error; }
cudaError_t last_error() { return g_last; }
cudaError_t take_last_error() { return std::exchange(g_last, cudaSuccess); }

const char* error_name(cudaError_t error) {
  const Meaning* const found = find(error);
  return found == nullptr ? "unrecognized error code" : found->name;
}

const char* error_text(cudaError_t error) {
  const Meaning* const found = find(error);
  return found == nullptr ? "unrecognized error code" : found->text;
}

}  // namespace wootz::hostcuda
