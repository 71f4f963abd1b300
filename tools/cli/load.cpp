// From plans to engines.
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>

#include "base/json.h"
#include "session.h"
#include "wootz/extensions.h"

namespace wootz_cli {

using namespace nvinfer1;
using Clock = std::chrono::steady_clock;

namespace {

// A file as applications bring one: in pieces, wherever the library wants them.
class FileReader final : public IStreamReaderV2 {
 public:
  explicit FileReader(const std::string& path) : file_(std::fopen(path.c_str(), "rb")) {
    if (file_ == nullptr) throw Failure(path + ": cannot be opened: " + std::strerror(errno));
  }
  ~FileReader() noexcept override { std::fclose(file_); }
  int64_t read(void* destination, int64_t bytes, cudaStream_t) noexcept override {
    if (bytes < 0) return -1;
    const size_t got = std::fread(destination, 1, static_cast<size_t>(bytes), file_);
    return std::ferror(file_) != 0 ? -1 : static_cast<int64_t>(got);
  }
  bool seek(int64_t offset, SeekPosition where) noexcept override {
    static constexpr int kWhere[] = {SEEK_SET, SEEK_CUR, SEEK_END};
    return std::fseek(file_, static_cast<long>(offset), kWhere[static_cast<int>(where)]) == 0;
  }

 private:
  std::FILE* file_;
};

void make_runtime(Loaded& loaded, const LoadOptions& options, Logger& logger) {
  loaded.runtime.reset(createInferRuntime(logger));
  if (loaded.runtime == nullptr) fail("the runtime could not be created", logger);
  if (options.runtime == RuntimeKind::kDispatch && options.lean_library.empty()) {
    if (wootz_runtime_use_plans_runtime(loaded.runtime.get(), 1) != 0) fail("--useRuntime=dispatch", logger);
    return;
  }
  if (options.runtime == RuntimeKind::kFull) return;
  std::string path = options.lean_library;
  if (path.empty()) {
    const char* const beside = wootz_runtime_library();
    if (beside == nullptr) fail("--useRuntime=lean", logger);
    path = beside;
  }
  loaded.opener = std::move(loaded.runtime);
  loaded.runtime.reset(loaded.opener->loadRuntime(path.c_str()));
  if (loaded.runtime == nullptr) fail("the runtime '" + path + "' cannot be used", logger);
}

std::shared_ptr<Loaded> load(const std::function<ICudaEngine*(IRuntime&)>& load, const LoadOptions& options,
                             Logger& logger) {
  const Clock::time_point start = Clock::now();
  auto loaded = std::make_shared<Loaded>();
  make_runtime(*loaded, options, logger);
  IRuntime& runtime = *loaded->runtime;
  runtime.setEngineHostCodeAllowed(options.native);
  if (!options.temporary_directory.empty()) {
    runtime.setTemporaryDirectory(options.temporary_directory.c_str());
    if (options.temporary_directory != runtime.getTemporaryDirectory())
      fail("--tempdir=" + options.temporary_directory + " was refused", logger);
  }
  if (options.temporary_files) runtime.setTempfileControlFlags(*options.temporary_files);
  for (const std::string& path : options.plugins)
    if (runtime.getPluginRegistry().loadLibrary(path.c_str()) == nullptr) fail(path + " cannot be loaded", logger);
  if (wootz_runtime_set_device(&runtime, options.device) != 0) fail("the device was refused", logger);
  loaded->engine.reset(load(runtime));
  if (loaded->engine == nullptr) fail("the plan was refused", logger);
  loaded->ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return loaded;
}

}  // namespace

std::shared_ptr<Loaded> load_engine(const std::string& path, const LoadOptions& options, Logger& logger) {
  return load(
      [&](IRuntime& runtime) -> ICudaEngine* {
        if (!options.stream_reader) return static_cast<ICudaEngine*>(wootz_runtime_load_file(&runtime, path.c_str()));
        FileReader reader(path);
        return runtime.deserializeCudaEngine(reader);
      },
      options, logger);
}

std::shared_ptr<Loaded> load_engine(IHostMemory& plan, const LoadOptions& options, Logger& logger) {
  return load([&](IRuntime& runtime) { return static_cast<ICudaEngine*>(wootz_runtime_load_memory(&runtime, &plan)); },
              options, logger);
}

bool PlanHeader::of_another() const {
  const int here = wootz_library_version();
  return !version.empty() && version != std::to_string(here >> 16) + "." + std::to_string(here >> 8 & 0xff) + "." +
                                            std::to_string(here & 0xff);
}

PlanHeader plan_header(const std::string& path, Logger& logger) {
  char head[256];
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (file == nullptr) throw Failure(path + ": cannot be opened: " + std::strerror(errno));
  const size_t got = std::fread(head, 1, sizeof(head), file.get());
  const char* const text = wootz_plan_header(head, got);
  if (text == nullptr) {
    try {
      load_engine(path, {}, logger);  // says which format it has, and which are read
    } catch (const Failure& failure) {
      throw Failure(path + ": is no plan that can be read: " + failure.what());
    }
    fail(path + ": is no plan", logger);
  }
  const auto json = wootz::OrderedJson::parse(text);
  return {json["format"].get<int>(), json.value("library_version", ""), json.value("runtime_bytes", int64_t{0})};
}

}  // namespace wootz_cli
