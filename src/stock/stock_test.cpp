// The table of plugins: its fields, and the page that lists it.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/testing.h"
#include "stock/plugin.h"

namespace wootz::stock {
namespace {

TEST(StockFields, DefaultsAndRefusals) {
  const Plugin* const nms = find_plugin("EfficientNMS_TRT", "1");
  ASSERT_NE(nms, nullptr);
  Fields given;
  given.set("max_output_boxes", HostTensor::scalar<int64_t>(7));
  given.set("no_field", std::string("x"));
  const Result<Fields> all = completed(nms->fields, given);
  ASSERT_TRUE(all.ok()) << all.status().message();
  EXPECT_EQ(std::get<HostTensor>(*all->find("max_output_boxes")).get_i64(0), 7);
  EXPECT_EQ(std::get<HostTensor>(*all->find("background_class")).get_i64(0), -1);
  EXPECT_EQ(std::get<HostTensor>(*all->find("iou_threshold")).get_f64(0), 0.5);
  EXPECT_EQ(all->find("no_field"), nullptr);
  given.set("max_output_boxes", HostTensor::scalar<float>(7));
  EXPECT_NE(completed(nms->fields, given).status().message().find("must be integers"), std::string::npos);
  const Plugin* const group = find_plugin("GroupNormalizationPlugin", "1");
  EXPECT_NE(completed(group->fields, {}).status().message().find("'num_groups' must be given"), std::string::npos);
  const Plugin* const prior = find_plugin("PriorBox_TRT", "1");
  given.set("minSize", HostTensor::scalar<float>(3));
  const Result<Fields> boxes = completed(prior->fields, given);
  ASSERT_TRUE(boxes.ok());
  EXPECT_EQ(std::get<HostTensor>(*boxes->find("variance")).volume(), 4);
  EXPECT_EQ(boxes->find("maxSize"), nullptr);
}

TEST(StockPlugins, NamesAndVersionsAreDistinct) {
  EXPECT_GE(plugins().size(), 50U);
  for (size_t i = 1; i < plugins().size(); ++i) {
    const Plugin &a = *plugins()[i - 1], &b = *plugins()[i];
    EXPECT_LT(std::pair(std::string(a.name), std::string(a.version)),
              std::pair(std::string(b.name), std::string(b.version)));
  }
  EXPECT_EQ(find_plugin("EfficientNMS_TRT", "9"), nullptr);
  EXPECT_EQ(versions_of("ROIAlign_TRT"), "1, 2");
  EXPECT_EQ(versions_of("Nothing"), "");
}

std::string fields_text(const Plugin& plugin) {
  std::string text;
  for (const Field& field : plugin.fields) {
    text += fmt::format("{}`{}`", text.empty() ? "" : ", ", field.name);
    if (field.fallback == nullptr) text += "!";
    if (field.fallback != nullptr && *field.fallback != '\0') text += fmt::format("={}", field.fallback);
  }
  return text;
}

// Versions that differ in nothing but the interface share a row.
std::string page_table() {
  std::ostringstream rows;
  rows << "| plugin | versions (V3: `IPluginV3`) | inputs | outputs | fields | what it computes |\n"
          "| --- | --- | --- | --- | --- | --- |\n";
  for (size_t i = 0; i < plugins().size();) {
    const Plugin& first = *plugins()[i];
    std::string versions;
    for (; i < plugins().size() && std::string_view(plugins()[i]->name) == first.name; ++i)
      versions += fmt::format("{}{}{}", versions.empty() ? "" : ", ", plugins()[i]->version,
                              plugins()[i]->interface == Interface::kV3 ? " (V3)" : "");
    const std::string inputs = first.min_inputs == first.max_inputs
                                   ? std::to_string(first.min_inputs)
                                   : fmt::format("{} to {}", first.min_inputs, first.max_inputs);
    const std::string outputs = first.outputs == 0 ? "`numLayers`" : std::to_string(first.outputs);
    rows << fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", first.name, versions, inputs, outputs,
                        fields_text(first), first.what);
  }
  return rows.str();
}

constexpr const char* kBegin = "<!-- stock_test: the table of src/stock -->\n";

std::string page_path() { return std::string(std::getenv("WOOTZ_SOURCE_DIR")) + "/docs/plugins.md"; }

std::string read_page() {
  std::stringstream text;
  text << std::ifstream(page_path()).rdbuf();
  return text.str();
}

TEST(StockPage, HasTheTable) {
  ASSERT_NE(std::getenv("WOOTZ_SOURCE_DIR"), nullptr) << "set WOOTZ_SOURCE_DIR to the source tree";
  EXPECT_NE(read_page().find(kBegin + page_table()), std::string::npos)
      << "docs/plugins.md has another table: run stock_test --gtest_also_run_disabled_tests "
         "--gtest_filter='*WriteTable'";
}

TEST(StockPage, DISABLED_WriteTable) {
  std::string page = read_page();
  const size_t begin = page.find(kBegin);
  ASSERT_NE(begin, std::string::npos);
  const size_t end = std::min(page.find("\n\n", begin), page.size());
  page.replace(begin, end + 1 - begin, kBegin + page_table());
  std::ofstream(page_path()) << page;
}

}  // namespace
}  // namespace wootz::stock
