// A tool that listens, in place of the library that one brings.
#include "backend/nvtx.h"

#include <gtest/gtest.h>

#include <string>

namespace wootz {
namespace {

std::string g_heard;

// What such a library does: finds the table of functions of module 1, and puts its own in.
struct Callbacks {
  size_t size;
  int (*table_of_module)(int module, void (****table)(), unsigned* count);
};

int listen(const void* (*table)(uint32_t number)) {
  const auto* callbacks = static_cast<const Callbacks*>(table(1));
  if (callbacks == nullptr || callbacks->size < sizeof(Callbacks)) return 0;
  void (***places)() = nullptr;
  unsigned count = 0;
  if (callbacks->table_of_module(1, &places, &count) == 0 || count < 16) return 0;
  for (unsigned f = 1; f < count; ++f)
    if (places[f] == nullptr) return 0;
  *places[9] = reinterpret_cast<void (*)()>(+[](const char* name) { return g_heard += name, 1; });
  *places[11] = reinterpret_cast<void (*)()>(+[] { return g_heard += ".", 1; });
  for (int module = 2; module < 7; ++module)
    if (callbacks->table_of_module(module, &places, &count) == 0 || count == 0) return 0;
  return callbacks->table_of_module(7, &places, &count) == 0;
}

TEST(Nvtx, AToolHearsRanges) {
  const Nvtx nvtx = attach_nvtx(listen);
  ASSERT_NE(nvtx.push, nullptr);
  ASSERT_NE(nvtx.pop, nullptr);
  nvtx.push("layer");
  nvtx.pop();
  EXPECT_EQ(g_heard, "layer.");
}

TEST(Nvtx, WithoutAToolNothingIsCalled) {
  EXPECT_EQ(attach_nvtx(nullptr).push, nullptr);
  EXPECT_EQ(attach_nvtx([](const void* (*)(uint32_t)) { return 0; }).push, nullptr);
}

}  // namespace
}  // namespace wootz
