#include "report/libraries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing.h"
#include "report/compare.h"
#include "report/page.h"
#include "report/record.h"

namespace wootz {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const LibraryState kThere{"NVRTC", "13.0", "", "no kernel can be made", true};
const LibraryState kGone{"cuDNN", "", "no libcudnn.so.9 in: /there", "convolutions 7 times slower; install it", false};
const LibraryState kQuiet{"driver", "", "no libcuda.so.1", "", false};

TEST(Libraries, EachOneThatIsMissedIsWarnedOf) {
  const KeptLog log;
  EXPECT_TRUE(check_libraries("cuda", {kThere, kGone, kQuiet}, log).ok());
  EXPECT_THAT(log.lines(LogLevel::kWarning),
              ElementsAre("without cuDNN: convolutions 7 times slower; install it. no libcudnn.so.9 in: /there"));
}

TEST(Libraries, WhatNothingCanBeBuiltWithoutRefusesTheBackend) {
  LibraryState needed = kThere;
  needed.version = "";
  needed.missing = "no libnvrtc.so.13";
  const Status status = check_libraries("cuda", {kGone, needed}, silent_log());
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr("the cuda backend is not offered without NVRTC: no libnvrtc.so.13"));
}

TEST(Libraries, ReportsNameThem) {
  EXPECT_EQ(libraries_json({kThere, kGone}),
            R"([{"name":"NVRTC","version":"13.0"},{"name":"cuDNN","missing":"no libcudnn.so.9 in: /there",)"
            R"("without":"convolutions 7 times slower; install it"}])");
  BuildReport record;
  record.libraries = {kThere, kGone, kQuiet};
  Program program;
  program.backend = "cuda";
  const Json report = build_report(record, program);
  const Json& listed = report["configuration"]["libraries"];
  ASSERT_EQ(listed.size(), 3u);
  EXPECT_EQ(listed[0], (Json{{"Name", "NVRTC"}, {"Version", "13.0"}}));
  EXPECT_EQ(listed[1], (Json{{"Name", "cuDNN"}, {"Version", nullptr}, {"Without", kGone.without}}));
  EXPECT_EQ(dump_report(report).find("/there"), std::string::npos) << "folders of the machine that built";
  EXPECT_THAT(report_text(report), HasSubstr("built without cuDNN: convolutions 7 times slower; install it"));
  EXPECT_THAT(report_page(report), HasSubstr("convolutions 7 times slower"));
  // What a plan keeps tells the inspector too.
  const Json kept = program_report(program, Json::parse(stored_record(record)), {});
  EXPECT_EQ(kept["configuration"]["libraries"], listed);
}

}  // namespace
}  // namespace wootz
