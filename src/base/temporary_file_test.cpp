#include "base/temporary_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "base/testing.h"

namespace wootz {
namespace {

std::vector<std::byte> contents(int descriptor, size_t bytes) {
  std::vector<std::byte> read(bytes + 1);
  const ssize_t n = ::pread(descriptor, read.data(), read.size(), 0);
  read.resize(n < 0 ? 0 : static_cast<size_t>(n));
  return read;
}

TEST(TemporaryFile, IsWhereItMayBe) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("wootz_temporary_{}", ::getpid());
  std::filesystem::create_directory(folder);
  const std::vector<std::byte> bytes(test_seed() % 100'000, std::byte{5});
  for (const bool memory : {false, true})
    for (const bool directory : {false, true})
      for (const FirstPlace first : {FirstPlace::kMemory, FirstPlace::kDirectory}) {
        Result<TemporaryFile> file = TemporaryFile::make({memory, directory, folder}, "name", first);
        ASSERT_EQ(file.ok(), memory || directory) << file.status().to_string();
        if (!file.ok()) {
          EXPECT_NE(file.status().message().find("TempfileControlFlag"), std::string::npos);
          continue;
        }
        const bool in_memory = memory && (!directory || first == FirstPlace::kMemory);
        EXPECT_EQ(std::filesystem::is_empty(folder), in_memory);
        ASSERT_TRUE(file->write(bytes).ok());
        EXPECT_EQ(contents(file->descriptor(), bytes.size()), bytes);
        EXPECT_TRUE(std::filesystem::exists(file->path()));
        file->remove_name();
        EXPECT_TRUE(std::filesystem::is_empty(folder));
        const int kept = file->release();
        { const TemporaryFile moved(std::move(*file)); }
        EXPECT_EQ(contents(kept, bytes.size()), bytes) << "whose descriptor is the caller's";
        ::close(kept);
      }
  { const Result<TemporaryFile> file = TemporaryFile::make({false, true, folder}, "name", FirstPlace::kMemory); }
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove(folder);
  const auto nowhere = TemporaryFile::make({true, true, "/nowhere"}, "name", FirstPlace::kDirectory);
  EXPECT_EQ(nowhere.status().code(), Code::kIo);
}

}  // namespace
}  // namespace wootz
