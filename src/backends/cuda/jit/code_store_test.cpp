#include "backends/cuda/jit/code_store.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace wootz::cuda {
namespace {

TEST(CodeStore, NothingIsKeptOrFoundWhereItIsNotAllowed) {
  char folder[] = "/tmp/wootz_code_XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const char* const before = std::getenv("WOOTZ_CUDA_CACHE");
  const std::string restore = before == nullptr ? "" : before;
  ::setenv("WOOTZ_CUDA_CACHE", folder, 1);
  const std::vector<char> code(100, 'x');  // of less, nothing is taken for code
  {
    const KeptCodeScope none(false);
    keep("a", code);
  }
  EXPECT_FALSE(find_kept("a").has_value());
  keep("a", code);
  EXPECT_EQ(find_kept("a"), code);
  {
    const KeptCodeScope none(false);
    EXPECT_FALSE(find_kept("a").has_value());
    const KeptCodeScope again(true);
    EXPECT_TRUE(find_kept("a").has_value());
  }
  if (before == nullptr)
    ::unsetenv("WOOTZ_CUDA_CACHE");
  else
    ::setenv("WOOTZ_CUDA_CACHE", restore.c_str(), 1);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace wootz::cuda
