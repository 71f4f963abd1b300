#include "plan/runtime_files.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/testing.h"
#include "plan/format.h"
#include "plan/program_dump_testing.h"
#include "plan/program_testing.h"
#include "plan/read.h"
#include "plan/write.h"

namespace wootz {
namespace {

using Bytes = std::vector<std::byte>;

struct Files {
  explicit Files(std::mt19937& rng) {
    contents.resize(1 + rng() % 5);
    for (Bytes& content : contents) {
      content.resize(rng() % 3 == 0 ? rng() % 3 * 64 : rng() % 5000);
      for (std::byte& b : content) b = static_cast<std::byte>(rng());
    }
    for (size_t i = 0; i < contents.size(); ++i)
      files.push_back({fmt::format("lib{}.so.{}", i, rng() % 9), contents[i]});
    EXPECT_TRUE(pack_runtime(files, &packed).ok());
  }
  Bytes section() const {
    Bytes all;
    for (const auto piece : packed.pieces) all.insert(all.end(), piece.begin(), piece.end());
    return all;
  }
  std::vector<Bytes> contents;
  std::vector<RuntimeFile> files;
  PackedRuntime packed;
};

TEST(RuntimeFiles, ComeBackAsTheyWere) {
  std::mt19937 rng(static_cast<unsigned>(test_seed()));
  for (int i = 0; i < 200; ++i) {
    const Files files(rng);
    const Bytes section = files.section();
    ASSERT_EQ(section.size(), files.packed.bytes);
    const auto back = unpack_runtime(section);
    ASSERT_TRUE(back.ok()) << back.status().to_string();
    ASSERT_EQ(back->size(), files.files.size());
    for (size_t f = 0; f < back->size(); ++f) {
      EXPECT_EQ((*back)[f].name, files.files[f].name);
      EXPECT_TRUE(std::ranges::equal((*back)[f].bytes, files.contents[f]));
    }
    EXPECT_FALSE(unpack_runtime(std::span(section).first(section.size() - 1)).ok());
  }
}

// Whatever stands there, files lie within the section, and names are names.
TEST(RuntimeFiles, ForgedTablesAreRefusedOrSound) {
  std::mt19937 rng(static_cast<unsigned>(test_seed()));
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Files files(rng);
    Bytes section = files.section();
    for (int k = 0; k < 1 + i % 4; ++k)
      section[rng() % std::min<size_t>(section.size(), 8 + files.files.size() * 56)] =
          static_cast<std::byte>(rng() % 300);
    const auto back = unpack_runtime(section);
    refused += !back.ok();
    if (!back.ok()) continue;
    for (const RuntimeFile& file : *back) {
      EXPECT_TRUE(file.bytes.data() >= section.data() &&
                  file.bytes.data() + file.bytes.size() <= section.data() + section.size());
      EXPECT_EQ(file.name.find('/'), std::string::npos);
      EXPECT_NE(file.name, "");
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(RuntimeFiles, NamesThatAreNoLibrarysAreNotWritten) {
  const Bytes content(3);
  for (const char* name :
       {"", "a/b.so", ".so", "..", "a b", "a\nb", "libaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.so"}) {
    const RuntimeFile files[] = {{name, content}};
    PackedRuntime packed;
    EXPECT_FALSE(pack_runtime(files, &packed).ok()) << name;
  }
  PackedRuntime packed;
  EXPECT_FALSE(pack_runtime({}, &packed).ok());
  const std::vector<RuntimeFile> many(17, RuntimeFile{"a.so", content});
  EXPECT_FALSE(pack_runtime(many, &packed).ok());
}

TEST(RuntimeFiles, PlansHoldThem) {
  const auto seed = static_cast<unsigned>(test_seed());
  std::mt19937 rng(seed);
  for (int i = 0; i < 20; ++i) {
    RandomProgram random(seed + static_cast<unsigned>(i));
    const Program program = random.make(4);
    const Files files(rng);
    const Companion companion{0x010203, &files.packed};
    const auto plan = write_plan(program, companion), bare = write_plan(program);
    ASSERT_TRUE(plan.ok() && bare.ok()) << plan.status().to_string();
    EXPECT_EQ(plan->size(), bare->size() + files.packed.bytes);
    const auto read = read_plan(*plan);
    ASSERT_TRUE(read.ok()) << read.status().to_string();
    EXPECT_EQ(dump(program), dump(**read));
    RawBytes streamed;
    ASSERT_TRUE(write_plan_to(
                    program,
                    [&](std::span<const std::byte> piece) {
                      streamed.insert(streamed.end(), piece.begin(), piece.end());
                      return Status();
                    },
                    companion)
                    .ok());
    EXPECT_TRUE(std::ranges::equal(streamed, *plan));
    const std::string path = (std::filesystem::temp_directory_path() / fmt::format("wootz_runtime_{}", seed)).string();
    size_t bytes = 0;
    ASSERT_TRUE(write_plan_file(program, path, &bytes, companion).ok());
    EXPECT_EQ(bytes, plan->size());
    EXPECT_EQ(std::filesystem::file_size(path), plan->size());
    EXPECT_TRUE(read_plan_file(path).ok());
    std::filesystem::remove(path);
    // What any version finds, whatever the format's number.
    Bytes other(plan->begin(), plan->end());
    plan_format::Header header;
    std::memcpy(static_cast<void*>(&header), other.data(), sizeof(header));
    header.version = 9;
    header.digest = plan_format::header_digest(header);
    std::memcpy(other.data(), &header, sizeof(header));
    const auto outline = plan_format::outline(other);
    ASSERT_TRUE(outline.ok());
    EXPECT_EQ(outline->format, 9U);
    EXPECT_EQ(outline->writer, 0x010203U);
    const auto section = std::span(other).subspan(outline->runtime.offset, outline->runtime.length);
    EXPECT_TRUE(std::ranges::equal(section, files.section()));
    other[outline->runtime.offset + rng() % outline->runtime.length] ^= std::byte{1};
    header.version = plan_format::kVersion;
    header.digest = plan_format::header_digest(header);
    std::memcpy(other.data(), &header, sizeof(header));
    EXPECT_NE(read_plan(other).status().message().find("runtime section is damaged"), std::string::npos);
    header.writer = 0;  // no writer
    header.digest = plan_format::header_digest(header);
    std::memcpy(other.data(), &header, sizeof(header));
    EXPECT_NE(read_plan(other).status().message().find("more than this build knows"), std::string::npos);
  }
}

}  // namespace
}  // namespace wootz
