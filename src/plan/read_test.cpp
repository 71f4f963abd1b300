#include "plan/read.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "backend/index_literals.h"
#include "base/testing.h"
#include "plan/format.h"
#include "plan/plan_generated.h"
#include "plan/program_dump_testing.h"
#include "plan/program_testing.h"
#include "plan/write.h"

namespace wootz {
namespace {

using Bytes = std::vector<std::byte>;

Bytes plan_of(unsigned seed) {
  RandomProgram random(seed);
  const Result<RawBytes> bytes = write_plan(random.make(4));
  return bytes.ok() ? Bytes(bytes->begin(), bytes->end()) : Bytes();
}

TEST(ReadPlan, RefusesEveryChangedByte) {
  const Bytes good = plan_of(11);
  ASSERT_TRUE(read_plan(good).ok());
  const auto seed = static_cast<unsigned>(test_seed());
  std::mt19937 rng(seed);
  Bytes bad = good;
  for (int i = 0; i < 10'000; ++i) {
    // The header byte by byte, then anywhere.
    const size_t at =
        static_cast<size_t>(i) < sizeof(plan_format::Header) ? static_cast<size_t>(i) : rng() % bad.size();
    const auto flip = static_cast<std::byte>(1 + rng() % 255);
    bad[at] ^= flip;
    const auto read = read_plan(bad);
    ASSERT_FALSE(read.ok()) << "byte " << at << " changed by " << static_cast<int>(flip);
    ASSERT_FALSE(read.status().message().empty());
    bad[at] ^= flip;
  }
  ASSERT_TRUE(bad == good);
}

TEST(ReadPlan, RefusesEveryTruncationAndEveryAddition) {
  Bytes good = plan_of(12);
  std::mt19937 rng(1);
  for (int i = 0; i < 1000; ++i) {
    const size_t length = i < 300 ? static_cast<size_t>(i) : rng() % good.size();
    ASSERT_FALSE(read_plan(std::span(good).first(length)).ok()) << length << " bytes";
  }
  good.push_back(std::byte{0});
  EXPECT_FALSE(read_plan(good).ok());
  EXPECT_FALSE(read_plan({}).ok());
}

TEST(ReadPlan, NamesBothVersions) {
  Bytes plan = plan_of(13);
  const uint32_t version = 7;
  std::memcpy(plan.data() + offsetof(plan_format::Header, version), &version, sizeof(version));
  const auto read = read_plan(plan);
  EXPECT_EQ(read.status().code(), Code::kUnsupported);
  EXPECT_EQ(read.status().message(), fmt::format("plan format 7, this build reads {}", plan_format::kVersion));
}

TEST(ReadPlan, KeepsWeightsInPlaceForAnOwnerAndCopiesThemOtherwise) {
  RandomProgram random(20);
  Program p = random.make();
  while (p.constants.empty()) p = random.make();
  auto bytes = std::make_shared<RawBytes>(write_plan(p).value());
  const auto inside = [&](const Program& q) {
    const auto* data = static_cast<const std::byte*>(q.constants[0_constant].data);
    return data >= bytes->data() && data <= bytes->data() + bytes->size();
  };
  // An owner's bytes at an odd address are copied as well: kernels count on 64-byte alignment.
  auto room = std::make_shared<Bytes>(bytes->size() + 128);
  for (const size_t shift : {size_t{0}, size_t{3}}) {
    const size_t start = 64 - reinterpret_cast<uintptr_t>(room->data()) % 64 + shift;
    std::copy(bytes->begin(), bytes->end(), room->begin() + static_cast<ptrdiff_t>(start));
    const auto read = read_plan(std::span(*room).subspan(start, bytes->size()), room);
    ASSERT_TRUE(read.ok()) << read.status().to_string();
    const auto* data = static_cast<const std::byte*>((*read)->constants[0_constant].data);
    EXPECT_EQ(data >= room->data() && data < room->data() + room->size(), shift == 0);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
    EXPECT_EQ(dump(p), dump(**read));
  }
  const auto copied = read_plan(*bytes);
  ASSERT_TRUE(copied.ok());
  EXPECT_FALSE(inside(**copied));
  bytes->assign(bytes->size(), std::byte{0});
  EXPECT_EQ(dump(p), dump(**copied));
}

std::filesystem::path old_plans() {
  return std::filesystem::path(std::getenv("WOOTZ_SOURCE_DIR")) / "src/plan/plan_fuzz_corpus";
}

// Plans that earlier builds wrote. They stay readable as long as the format's number stays.
TEST(ReadPlan, OldPlans) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(old_plans())) {
    const auto read = read_plan_file(entry.path());
    EXPECT_TRUE(read.ok()) << read.status().to_string();
    ++count;
  }
  EXPECT_GE(count, 4);
}

// Run by hand after a change of the schema: adds plans of today, never replaces one.
TEST(ReadPlan, DISABLED_WriteTodaysPlans) {
  for (const unsigned seed : {101u, 102u, 103u, 104u}) {
    const Bytes plan = plan_of(seed);
    const auto path = old_plans() / fmt::format("format{}_{}", plan_format::kVersion, seed);
    ASSERT_FALSE(std::filesystem::exists(path)) << path;
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(plan.data()), static_cast<long>(plan.size()));
  }
}

// Valid digests around what a forger wrote.
TEST(ReadPlan, ForgedMetadataIsRefusedOrSound) {
  const auto seed = static_cast<unsigned>(test_seed());
  std::mt19937 rng(seed);
  const Bytes good = plan_of(14);
  plan_format::Header header;
  std::memcpy(static_cast<void*>(&header), good.data(), sizeof(header));
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    Bytes bad = good;
    for (int k = 0; k < 1 + i % 4; ++k)
      bad[header.sections[0].offset + rng() % header.sections[0].length] = static_cast<std::byte>(rng());
    ASSERT_TRUE(plan_format::reseal(bad));
    const auto read = read_plan(bad);
    refused += !read.ok();
    if (!read.ok()) continue;
    ShapeValues shapes;  // what passed is sound: using it must not go wrong
    const std::vector<int64_t> symbols((*read)->symbols.size(), 3);
    (void)evaluate_shapes(**read, symbols, &shapes);
    (void)dump(**read);
  }
  EXPECT_GT(refused, 0);
}

// A program's metadata built by hand.
Bytes sealed(flatbuffers::FlatBufferBuilder& b) {
  Bytes file(plan_format::align_up(sizeof(plan_format::Header) + b.GetSize(), plan_format::kWeightsAlignment));
  const size_t metadata = file.size() - sizeof(plan_format::Header);
  const plan_format::Header header = plan_format::make_header({metadata, {}}, {});
  std::memcpy(file.data(), &header, sizeof(header));
  std::memcpy(file.data() + sizeof(header), b.GetBufferPointer(), b.GetSize());
  plan_format::reseal(file);
  return file;
}

TEST(ReadPlan, ReferencesThatShareOneTextDoNotUnfoldWithoutBound) {
  flatbuffers::FlatBufferBuilder b;
  const auto text = b.CreateString(std::string(size_t{1} << 20, 'x'));
  const std::vector<flatbuffers::Offset<fb::Property>> none;
  const auto problem = fb::CreateProblem(b);
  const auto provenance = b.CreateVector(std::vector<flatbuffers::Offset<flatbuffers::String>>(60'000, text));
  const auto step = fb::CreateStep(b, text, provenance, problem);
  const auto steps = b.CreateVector(std::vector<flatbuffers::Offset<fb::Step>>{step});
  fb::PlanBuilder plan(b);
  plan.add_steps(steps);
  fb::FinishPlanBuffer(b, plan.Finish());
  const auto read = read_plan(sealed(b));  // 60 GB if it were believed
  EXPECT_EQ(read.status().code(), Code::kResourceExhausted) << read.status().to_string();
}

TEST(ReadPlan, CountsBeyondTheFileAreRefused) {
  Bytes plan = plan_of(15);
  plan_format::Header header;
  std::memcpy(static_cast<void*>(&header), plan.data(), sizeof(header));
  // Every 4-byte word of the metadata in turn becomes a huge count or offset.
  for (size_t at = 0; at + 4 <= std::min<size_t>(header.sections[0].length, 6000); at += 4) {
    for (const uint32_t huge : {0xffffffffu, 0x7fffffffu, 0x40000000u}) {
      Bytes bad = plan;
      std::memcpy(bad.data() + header.sections[0].offset + at, &huge, sizeof(huge));
      plan_format::reseal(bad);
      (void)read_plan(bad);
    }
  }
  for (size_t at = 0; at < offsetof(plan_format::Header, digest); at += 4) {  // and of the header
    const uint32_t huge = 0xffffffff;
    Bytes bad = plan;
    std::memcpy(bad.data() + at, &huge, sizeof(huge));
    std::memcpy(static_cast<void*>(&header), bad.data(), sizeof(header));
    header.digest = plan_format::header_digest(header);
    std::memcpy(bad.data(), &header, sizeof(header));
    EXPECT_FALSE(read_plan(bad).ok()) << at;
  }
}

TEST(ReadPlanFile, RefusesWhatIsNoFile) {
  EXPECT_EQ(read_plan_file("/nowhere/a.plan").status().code(), Code::kIo);
  EXPECT_FALSE(read_plan_file("/tmp").ok());
  EXPECT_FALSE(read_plan_file("/dev/zero").ok());
  EXPECT_FALSE(read_plan_file("/dev/null").ok());
  char folder[] = "/tmp/wootz-read-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string pipe = std::string(folder) + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(read_plan_file(pipe).ok());  // and does not wait for a writer
  const std::string empty = std::string(folder) + "/empty";
  std::ofstream(empty).close();
  EXPECT_FALSE(read_plan_file(empty).ok());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace wootz
