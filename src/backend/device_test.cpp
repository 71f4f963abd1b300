#include "backend/device.h"

#include <gtest/gtest.h>

namespace wootz {
namespace {

TEST(DeviceDescription, JsonRoundTrip) {
  DeviceDescription d{"cpu", "A \"quoted\" name\n", "avx512_vnni", 12, size_t{34} << 30};
  const Result<DeviceDescription> back = DeviceDescription::from_json(d.to_json());
  ASSERT_TRUE(back.ok()) << back.status().to_string();
  EXPECT_EQ(back->backend, d.backend);
  EXPECT_EQ(back->name, d.name);
  EXPECT_EQ(back->isa, d.isa);
  EXPECT_EQ(back->threads, d.threads);
  EXPECT_EQ(back->memory, d.memory);
}

TEST(DeviceDescription, NamesThatAreNotUtf8DoNotThrow) {
  DeviceDescription d{"cpu", "\xff\xfe", "", 1, 0};
  EXPECT_TRUE(DeviceDescription::from_json(d.to_json()).ok());
}

TEST(DeviceDescription, RefusesWhatItCannotUse) {
  for (const char* text : {"", "[]", "{", "{}", "3", R"({"backend": 3})", R"({"backend": "cpu", "threads": "4"})",
                           R"({"backend": "cpu", "threads": 0})", R"({"backend": "cpu", "threads": 99999999999})",
                           R"({"backend": "cpu", "memory": -1})", R"({"backend": "cpu", "isa": null})"})
    EXPECT_FALSE(DeviceDescription::from_json(text).ok()) << text;
}

}  // namespace
}  // namespace wootz
