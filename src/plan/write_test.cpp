#include "plan/write.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "backend/index_literals.h"
#include "base/testing.h"
#include "plan/program_dump_testing.h"
#include "plan/program_testing.h"
#include "plan/read.h"
#include "plan/verify.h"

namespace wootz {
namespace {

namespace fs = std::filesystem;

// A folder of its own that goes with the test.
struct Folder {
  Folder() {
    char name[] = "/tmp/wootz-plan-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Folder() { fs::remove_all(path); }
  size_t files() const { return static_cast<size_t>(std::distance(fs::directory_iterator(path), {})); }
  std::string path;
};

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

Program big_program() {  // 3 MiB of weights: several chunks of the digest
  RandomProgram random(7);
  Program p = random.make();
  PlanConstant c;
  c.name = "big";
  c.dtype = DType::kU8;
  c.dims = {3 << 20};
  c.bytes = size_t{3} << 20;
  const auto bytes = std::make_shared<std::vector<uint8_t>>(c.bytes);
  for (size_t i = 0; i < bytes->size(); ++i) (*bytes)[i] = static_cast<uint8_t>(i * 2654435761u >> 13);
  c.owner = bytes;
  c.data = bytes->data();
  p.constants.push_back(std::move(c));
  return p;
}

TEST(WritePlan, RandomProgramsComeBackTheSame) {
  const auto seed = static_cast<unsigned>(test_seed());
  RandomProgram random(seed);
  for (int i = 0; i < 200; ++i) {
    const Program p = random.make();
    const Status sound = verify_program(p);
    ASSERT_TRUE(sound.ok()) << sound.to_string();
    const Result<RawBytes> bytes = write_plan(p);
    ASSERT_TRUE(bytes.ok()) << bytes.status().to_string();
    const auto back = read_plan(*bytes);
    ASSERT_TRUE(back.ok()) << back.status().to_string();
    ASSERT_EQ(dump(p), dump(**back));
    const Result<RawBytes> again = write_plan(**back);
    ASSERT_TRUE(again.ok());
    ASSERT_TRUE(*bytes == *again) << "the bytes depend on more than the program";
  }
}

TEST(WritePlan, KeepsTheSignOfZeroAndNaN) {
  RandomProgram random(3);
  Program p = random.make();
  p.steps[0_step].problem.params = ResizeParams{.cubic_a = std::nan(""), .extrapolation = -0.0};
  p.steps[0_step].problem.num_main = 1;
  p.steps[0_step].problem.epilogue = {};
  const auto bytes = write_plan(p);
  ASSERT_TRUE(bytes.ok());
  const auto back = read_plan(*bytes);
  ASSERT_TRUE(back.ok());
  const auto& params = (*back)->steps[0_step].problem.as<ResizeParams>();
  EXPECT_TRUE(std::signbit(params.extrapolation));
  EXPECT_TRUE(std::isnan(params.cubic_a));
}

TEST(WritePlan, RefusesWhatCouldNotBeRead) {
  RandomProgram random(5);
  Program p = random.make();
  p.steps[0_step].inputs[0] = 12345678_tensor;
  EXPECT_FALSE(write_plan(p).ok());
}

TEST(WritePlanFile, IsTheSameBytesAndLeavesNothingElse) {
  const Folder folder;
  const Program p = big_program();
  const std::string path = folder.path + "/a.plan";
  ASSERT_TRUE(write_plan_file(p, path).ok());
  const auto bytes = write_plan(p);
  ASSERT_TRUE(bytes.ok());
  EXPECT_TRUE(contents(path) == std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()));
  EXPECT_EQ(folder.files(), 1u);
  const auto back = read_plan_file(path);
  ASSERT_TRUE(back.ok()) << back.status().to_string();
  EXPECT_EQ(dump(p), dump(**back));
}

// The program with every constant still to be made.
Program unmade(Program p) {
  for (PlanConstant& c : p.constants) {
    c.make = [owner = c.owner, data = c.data](std::span<std::byte> to) {
      std::memcpy(to.data(), data, to.size());
      return Status();
    };
    c.owner = nullptr;
    c.data = nullptr;
  }
  return p;
}

TEST(WritePlan, EveryWayGivesTheSameBytes) {
  const Folder folder;
  const std::string path = folder.path + "/a.plan";
  const Program made = big_program(), later = unmade(made);
  const Result<RawBytes> bytes = write_plan(made), of_later = write_plan(later);
  ASSERT_TRUE(bytes.ok() && of_later.ok());
  EXPECT_TRUE(*bytes == *of_later);
  size_t size = 0;
  ASSERT_TRUE(write_plan_file(later, path, &size).ok());
  EXPECT_EQ(size, bytes->size());
  const std::string whole(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  EXPECT_TRUE(contents(path) == whole);
  std::string streamed;
  const Status status = write_plan_to(later, [&](std::span<const std::byte> piece) {
    streamed.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    return Status();
  });
  ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_TRUE(streamed == whole);
}

TEST(WritePlan, AWeightThatCannotBeMadeLeavesTheOldFile) {
  const Folder folder;
  const std::string path = folder.path + "/a.plan";
  std::ofstream(path) << "old";
  Program p = unmade(big_program());
  p.constants.back().make = [](std::span<std::byte>) { return unsupported("no such weight"); };
  EXPECT_EQ(write_plan_file(p, path).message(), "no such weight");
  EXPECT_EQ(contents(path), "old");
  EXPECT_EQ(folder.files(), 1u);
  EXPECT_FALSE(write_plan(p).ok());
  EXPECT_FALSE(write_plan_to(p, [](std::span<const std::byte>) { return Status(); }).ok());
}

TEST(WritePlanFile, ReplacesWhatALinkPointsTo) {
  const Folder folder;
  const std::string path = folder.path + "/a.plan", link = folder.path + "/link.plan";
  std::ofstream(path) << "old";
  fs::create_symlink("a.plan", link);
  RandomProgram random(1);
  const Program p = random.make();
  ASSERT_TRUE(write_plan_file(p, link).ok());
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_TRUE(read_plan_file(path).ok());
}

TEST(WritePlanFile, AMappedPlanSurvivesItsReplacement) {
  const Folder folder;
  const std::string path = folder.path + "/a.plan";
  const Program p = big_program();
  ASSERT_TRUE(write_plan_file(p, path).ok());
  const auto mapped = read_plan_file(path);
  ASSERT_TRUE(mapped.ok());
  RandomProgram random(2);
  ASSERT_TRUE(write_plan_file(random.make(), path).ok());
  EXPECT_EQ(dump(p), dump(**mapped));
}

TEST(WritePlanFile, ReportsAFullDevice) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full here";
  RandomProgram random(1);
  const Status status = write_plan_file(random.make(), "/dev/full");
  EXPECT_EQ(status.code(), Code::kIo) << status.to_string();
  EXPECT_NE(status.message().find("/dev/full"), std::string::npos);
  struct stat info;
  ASSERT_EQ(::stat("/dev/full", &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
}

TEST(WritePlanFile, AFileThatCannotGrowLeavesTheOldOne) {
  const Folder folder;
  const std::string path = folder.path + "/a.plan";
  std::ofstream(path) << "old";
  struct rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit limit = before;
  limit.rlim_cur = size_t{1} << 20;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const Status status = write_plan_file(big_program(), path);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(status.code(), Code::kIo) << status.to_string();
  EXPECT_EQ(contents(path), "old");
  EXPECT_EQ(folder.files(), 1u);
}

TEST(WritePlanFile, RefusesFoldersThatAreNotThere) {
  RandomProgram random(1);
  EXPECT_EQ(write_plan_file(random.make(), "/nowhere/at/all/a.plan").code(), Code::kIo);
  EXPECT_EQ(write_plan_file(random.make(), "/tmp").code(), Code::kIo);
}

}  // namespace
}  // namespace wootz
