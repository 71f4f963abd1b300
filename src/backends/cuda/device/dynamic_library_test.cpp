#include "backends/cuda/device/dynamic_library.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "backends/cuda/device/libraries.h"
#include "base/library_folders.h"

namespace wootz::cuda {
namespace {

using testing::HasSubstr;

// A folder with a library under a name that no other has: libm, which is surely somewhere.
class Folder {
 public:
  explicit Folder(const std::string& inside, const std::string& library = "libwootz_probe.so.1") {
    std::string name = (std::filesystem::temp_directory_path() / "wootz_libraries_XXXXXX").string();
    root_ = mkdtemp(name.data());
    std::filesystem::create_directories(root_ / inside);
    Dl_info info{};
    double (*const some)(double) = std::cbrt;
    EXPECT_NE(dladdr(reinterpret_cast<const void*>(some), &info), 0);
    std::filesystem::create_symlink(info.dli_fname, root_ / inside / library);
  }
  ~Folder() { std::filesystem::remove_all(root_); }
  std::string root() const { return root_.string(); }

 private:
  std::filesystem::path root_;
};

// An environment variable for as long as this lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* was = std::getenv(name)) was_ = was;
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { was_ ? ::setenv(name_, was_->c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> was_;
};

TEST(DynamicLibrary, IsFoundInFoldersThatAreNamed) {
  const Folder folder("lib");
  EXPECT_FALSE(open_library({"libwootz_probe.so.1"}).ok());
  const Variable path("WOOTZ_CUDA_PATH", "/nowhere:" + folder.root() + "/lib");
  const Result<void*> opened = open_library({"libwootz_none.so.1", "libwootz_probe.so.1"});
  ASSERT_TRUE(opened.ok()) << opened.status().to_string();
  EXPECT_NE(find_symbol(*opened, "cbrt"), nullptr);
}

TEST(DynamicLibrary, IsFoundInAPythonEnvironment) {
  const Folder folder("lib/python3.12/site-packages/nvidia/probe/lib");
  const Variable path("VIRTUAL_ENV", folder.root());
  EXPECT_TRUE(open_library({"libwootz_probe.so.1"}).ok());
}

// A name of its own: the folder stays added, and the loader answers to a path that it has opened once, file or no file.
TEST(DynamicLibrary, IsFoundInAFolderThatWasAdded) {
  const Folder folder("added", "libwootz_added.so.1");
  EXPECT_FALSE(open_library({"libwootz_added.so.1"}).ok());
  add_library_folder(folder.root() + "/added");
  add_library_folder(folder.root() + "/added");
  EXPECT_TRUE(open_library({"libwootz_added.so.1"}).ok());
  EXPECT_EQ(added_library_folders(), std::vector<std::string>{folder.root() + "/added"});
}

TEST(DynamicLibrary, WhatIsMissingSaysWhereItWasLookedFor) {
  const Variable path("WOOTZ_CUDA_PATH", "/no/such/folder");
  const Result<void*> opened = open_library({"libwootz_none.so.1"});
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(opened.status().message(), HasSubstr("no libwootz_none.so.1"));
  EXPECT_THAT(opened.status().message(), HasSubstr("/no/such/folder"));
}

// One that is there and does not open says why, rather than that it is not there.
TEST(DynamicLibrary, WhatCannotBeOpenedSaysWhy) {
  const Folder folder("lib");
  std::filesystem::remove(folder.root() + "/lib/libwootz_probe.so.1");
  std::filesystem::create_symlink("/dev/null", folder.root() + "/lib/libwootz_probe.so.1");
  const Variable path("WOOTZ_CUDA_PATH", folder.root() + "/lib");
  const Result<void*> opened = open_library({"libwootz_probe.so.1"});
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(opened.status().message(), HasSubstr("file too short"));
}

TEST(Libraries, AllFiveAreTold) {
  const std::vector<LibraryState> here = library_states(false), elsewhere = library_states(true);
  ASSERT_EQ(here.size(), 5u);
  ASSERT_EQ(elsewhere.size(), 5u);
  const char* const names[] = {"driver", "NVRTC", "cuBLASLt", "cuDNN", "NCCL"};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(here[i].name, names[i]);
    EXPECT_NE(here[i].version.empty(), here[i].missing.empty()) << here[i].name;
    std::printf("%s: %s%s\n", names[i], here[i].version.c_str(), here[i].missing.c_str());
  }
  EXPECT_TRUE(here[0].required && !elsewhere[0].required);
  EXPECT_TRUE(here[1].required && elsewhere[1].required);
  EXPECT_THAT(here[3].without, HasSubstr("nvidia-cudnn-cu13"));
  EXPECT_THAT(here[3].without, HasSubstr("WOOTZ_CUDA_PATH"));
  // No build without such layers is to warn of it.
  EXPECT_TRUE(!here[4].required && here[4].without.empty());
  if (!here[4].missing.empty()) {
    EXPECT_THAT(here[4].missing, HasSubstr("libnccl.so.2"));
    EXPECT_THAT(here[4].missing, HasSubstr("layers that span devices cannot run"));
  }
}

}  // namespace
}  // namespace wootz::cuda
