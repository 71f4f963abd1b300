// Plans that are damaged, forged, or meant for somebody else: null, a code for the error recorder, and a message.
#include <functional>
#include <random>

#include "api/dense.h"
#include "base/testing.h"
#include "plan/format.h"
#include "plan/read.h"
#include "plan/write.h"

namespace wootz_test {
namespace {

using Bytes = std::vector<std::byte>;

class CountingRecorder final : public IErrorRecorder {
 public:
  int32_t getNbErrors() const noexcept override { return count; }
  ErrorCode getErrorCode(int32_t) const noexcept override { return last; }
  ErrorDesc getErrorDesc(int32_t) const noexcept override { return text.c_str(); }
  bool hasOverflowed() const noexcept override { return false; }
  void clear() noexcept override { count = 0; }
  bool reportError(ErrorCode code, ErrorDesc desc) noexcept override {
    ++count;
    last = code;
    text = desc;
    return true;
  }
  RefCount incRefCount() noexcept override { return 1; }
  RefCount decRefCount() noexcept override { return 1; }
  int32_t count = 0;
  ErrorCode last = ErrorCode::kSUCCESS;
  std::string text;
};

class Plans : public testing::Test {
 protected:
  Plans() : runtime_(createInferRuntime(logger_)) {
    runtime_->setErrorRecorder(&recorder_);
    Dense b;
    Owned<IHostMemory> plan(b.builder->buildSerializedNetwork(*b.network, *b.config));
    const auto* bytes = static_cast<const std::byte*>(plan->data());
    good_.assign(bytes, bytes + plan->size());
  }
  // Refused, with one error told.
  bool refused(const void* data, size_t size) {
    recorder_.count = 0;
    Owned<ICudaEngine> engine(runtime_->deserializeCudaEngine(data, size));
    return engine == nullptr && recorder_.count == 1 && recorder_.last != ErrorCode::kSUCCESS &&
           !recorder_.text.empty();
  }
  Logger logger_;
  CountingRecorder recorder_;
  Owned<IRuntime> runtime_;
  Bytes good_;
};

TEST_F(Plans, TenThousandChangedBytes) {
  namespace format = wootz::plan_format;
  format::Header header;
  std::memcpy(static_cast<void*>(&header), good_.data(), sizeof(header));
  const format::Section metadata = header.sections[0], weights = header.sections[1];
  ASSERT_GT(metadata.length, 1000u);
  ASSERT_GE(weights.length, 512u);
  ASSERT_EQ(weights.offset + weights.length, good_.size());
  ASSERT_NE(Owned<ICudaEngine>(runtime_->deserializeCudaEngine(good_.data(), good_.size())), nullptr);
  const auto seed = static_cast<unsigned>(wootz::test_seed());
  std::mt19937 rng(seed);
  const auto between = [&](size_t from, size_t length) { return from + rng() % length; };
  for (int i = 0; i < 10'000; ++i) {
    const size_t at = i % 4 == 0   ? between(0, sizeof(header))  // a third of it digests
                      : i % 4 == 1 ? between(metadata.offset, metadata.length)
                      : i % 4 == 2 ? between(weights.offset, weights.length)
                                   : between(0, good_.size());
    const auto flip = static_cast<std::byte>(1U << rng() % 8);
    good_[at] ^= flip;
    ASSERT_TRUE(refused(good_.data(), good_.size())) << "byte " << at << " of " << good_.size();
    good_[at] ^= flip;
  }
  EXPECT_NE(Owned<ICudaEngine>(runtime_->deserializeCudaEngine(good_.data(), good_.size())), nullptr);
}

TEST_F(Plans, AThousandTruncations) {
  std::mt19937 rng(3);
  for (size_t i = 0; i < 1000; ++i) {
    const size_t length = i < 300 ? i : i < 400 ? good_.size() - 1 - (i - 300) : rng() % good_.size();
    const Bytes cut(good_.begin(), good_.begin() + static_cast<ptrdiff_t>(length));  // exact: a sanitizer sees its end
    ASSERT_TRUE(refused(cut.data(), cut.size())) << length << " bytes";
  }
}

TEST_F(Plans, WellFormedButNotForHere) {
  struct Case {
    const char* what;
    std::function<void(wootz::Program&)> change;
    const char* says;
  };
  const Case table[] = {
      {"a backend that nobody knows", [](wootz::Program& p) { p.backend = "abacus"; }, "abacus"},
      {"a tactic source that is not here",
       [](wootz::Program& p) { p.steps[wootz::StepIndex(0)].tactic.provider = "elsewhere"; }, "elsewhere"},
      {"a kernel of a later version", [](wootz::Program& p) { p.steps[wootz::StepIndex(0)].tactic.kernel += "_v9"; },
       "layer '"},
  };
  for (const Case& c : table) {
    SCOPED_TRACE(c.what);
    const auto read = wootz::read_plan(good_);
    ASSERT_TRUE(read.ok());
    wootz::Program program = **read;
    c.change(program);
    const auto bytes = wootz::write_plan(program);
    ASSERT_TRUE(bytes.ok()) << bytes.status().to_string();
    EXPECT_TRUE(refused(bytes->data(), bytes->size()));
    EXPECT_NE(recorder_.text.find(c.says), std::string::npos) << recorder_.text;
  }
  // Another processor alone is no obstacle, but worth a warning.
  const auto read = wootz::read_plan(good_);
  ASSERT_TRUE(read.ok());
  wootz::Program program = **read;
  const size_t isa = program.device.find("avx");
  ASSERT_NE(isa, std::string::npos) << program.device;
  program.device.replace(isa, 3, "qvx");
  const auto bytes = wootz::write_plan(program);
  ASSERT_TRUE(bytes.ok());
  EXPECT_FALSE(refused(bytes->data(), bytes->size()));
  EXPECT_NE(logger_.warnings().find("qvx"), std::string::npos) << logger_.warnings();
}

TEST_F(Plans, OfAnotherVersion) {
  const uint32_t version = 7;
  std::memcpy(good_.data() + offsetof(wootz::plan_format::Header, version), &version, sizeof(version));
  EXPECT_TRUE(refused(good_.data(), good_.size()));
  EXPECT_NE(recorder_.text.find("plan format 7"), std::string::npos) << recorder_.text;
}

}  // namespace
}  // namespace wootz_test
