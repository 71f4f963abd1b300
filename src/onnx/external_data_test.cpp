#include "onnx/external_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "onnx/model_for_test.h"

namespace wootz::importer {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ExternalData : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "wootz_external_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    fs::create_directories(root_ / "model/sub");
    write(root_ / "secret.bin", "secret secret!!!");
    write(root_ / "model/weights.bin", "0123456789abcdef");
    write(root_ / "model/sub/more.bin", "sub");
  }
  void TearDown() override { fs::remove_all(root_); }
  static void write(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

  // What `bytes` at the place are, or the refusal.
  std::string read(const std::string& location, int64_t bytes, std::optional<std::string> offset = {},
                   std::optional<std::string> length = {}, bool allow_links = false) {
    ExternalFiles files(root_ / "model", allow_links);
    const Result<ExternalBytes> found = files.read({location, std::move(offset), std::move(length)}, bytes);
    if (!found.ok()) return "refused: " + found.status().message();
    return std::string(reinterpret_cast<const char*>(found->data), static_cast<size_t>(bytes));
  }
  fs::path root_;
};

TEST_F(ExternalData, ReadsWhatItShould) {
  EXPECT_EQ(read("weights.bin", 4), "0123");
  EXPECT_EQ(read("./weights.bin", 4, "10", "4"), "abcd");
  EXPECT_EQ(read("sub/more.bin", 3), "sub");
  EXPECT_EQ(read("sub//./more.bin", 3), "sub");
  EXPECT_EQ(read("weights.bin", 0, "16"), "");
}

TEST_F(ExternalData, StaysInTheFolder) {
  for (const char* location :
       {"../secret.bin", "sub/../../secret.bin", "a/../../secret.bin", "..", "sub/..", "weights.bin/.."})
    EXPECT_THAT(read(location, 4), HasSubstr("refused: external data location")) << location;
  EXPECT_THAT(read((root_ / "secret.bin").string(), 4), HasSubstr("not relative"));
  EXPECT_THAT(read("", 4), HasSubstr("empty location"));
  EXPECT_THAT(read(".", 4), HasSubstr("names no file"));
  EXPECT_THAT(read("weights.bin/", 4), HasSubstr("names no file"));
  EXPECT_THAT(read(std::string("weights.bin\0.txt", 16), 4), HasSubstr("NUL"));
  EXPECT_THAT(read(std::string(5000, 'a'), 4), HasSubstr("the limit is"));
}

TEST_F(ExternalData, NoLinks) {
  fs::create_symlink(root_ / "secret.bin", root_ / "model/link.bin");
  fs::create_symlink("weights.bin", root_ / "model/inner_link.bin");
  fs::create_directory_symlink(root_, root_ / "model/up");
  fs::create_hard_link(root_ / "secret.bin", root_ / "model/hard.bin");
  EXPECT_THAT(read("link.bin", 4), HasSubstr("refused"));
  EXPECT_THAT(read("inner_link.bin", 4), HasSubstr("symbolic link"));
  EXPECT_THAT(read("up/secret.bin", 4), HasSubstr("refused"));
  EXPECT_THAT(read("hard.bin", 4), HasSubstr("2 hard links"));
  EXPECT_EQ(read("inner_link.bin", 4, {}, {}, true), "0123");  // the opt-out
  EXPECT_EQ(read("hard.bin", 6, {}, {}, true), "secret");
  EXPECT_THAT(read("../secret.bin", 4, {}, {}, true), HasSubstr("'..'"));
}

TEST_F(ExternalData, OnlyRegularFiles) {
  ASSERT_EQ(::mkfifo((root_ / "model/fifo").c_str(), 0600), 0);
  EXPECT_THAT(read("fifo", 4), HasSubstr("not a regular file"));
  EXPECT_THAT(read("sub", 4), HasSubstr("not a regular file"));
  EXPECT_THAT(read("nothing.bin", 4), HasSubstr("No such file"));
}

TEST_F(ExternalData, OffsetsAndLengths) {
  EXPECT_THAT(read("weights.bin", 17), HasSubstr("do not fit in the file of 16 bytes"));
  EXPECT_THAT(read("weights.bin", 4, "13"), HasSubstr("do not fit"));
  EXPECT_THAT(read("weights.bin", 4, "9223372036854775807"), HasSubstr("do not fit"));
  EXPECT_THAT(read("weights.bin", 4, "0", "8"), HasSubstr("length 8, its type and shape take 4 bytes"));
  for (const char* bad :
       {"-1", "+1", " 1", "1 ", "0x10", "1e3", "", "9223372036854775808", "99999999999999999999", "1\n"}) {
    EXPECT_THAT(read("weights.bin", 4, bad), HasSubstr("not a decimal")) << bad;
    EXPECT_THAT(read("weights.bin", 4, "0", bad), HasSubstr("not a decimal")) << bad;
  }
}

TEST_F(ExternalData, ThroughAModel) {
  ModelProto model = model_for_test();
  TensorProto* tensor = model.mutable_graph()->add_initializer();
  tensor->set_name("w");
  tensor->set_data_type(TensorProto::UINT8);
  tensor->add_dims(3);
  tensor->set_data_location(TensorProto::EXTERNAL);
  const auto entry = [&](const char* key, const char* value) {
    auto* made = tensor->add_external_data();
    made->set_key(key);
    made->set_value(value);
  };
  entry("location", "weights.bin");
  entry("offset", "2");
  entry("comment", "../ignored");
  add_output(model.mutable_graph(), "w");
  EXPECT_THAT(import_for_test(model).status.message(), HasSubstr("without a folder"));

  ImportOptions options;
  options.model_dir = root_ / "model";
  const ImportedForTest imported = import_for_test(model, options);
  ASSERT_TRUE(imported.status.ok()) << imported.status.to_string();
  EXPECT_EQ(imported.graph->outputs()[0]->constant().get_i64(0), '2');

  const std::string path = root_ / "model/model.onnx";
  write(path, model.SerializeAsString());
  EXPECT_TRUE(import_file(path).ok());  // the folder of the file

  entry("offset", "3");
  EXPECT_THAT(import_for_test(model, options).status.message(), HasSubstr("two values for 'offset'"));
  tensor->mutable_external_data()->RemoveLast();
  tensor->set_raw_data("abc");
  EXPECT_THAT(import_for_test(model, options).status.message(), HasSubstr("external data and data in the model"));
}

}  // namespace
}  // namespace wootz::importer
