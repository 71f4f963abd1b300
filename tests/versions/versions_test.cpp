// Version-compatible plans: the runtime inside, who runs it, and what is refused.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "api/dense.h"
#include "base/json.h"
#include "base/testing.h"
#include "plan/format.h"
#include "plan/library_version.h"
#include "plan/read.h"
#include "plan/write.h"
#include "plugins/script_plugin.h"

namespace wootz_test {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

constexpr uint32_t kNext = 91 << 16 | 2 << 8 | 3;  // of WOOTZ_NEXT_RUNTIME, which reads this format:
constexpr uint32_t kNextFormat = wootz::plan_format::kVersion + 1;

Bytes read_bytes(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

struct Compatible : Dense {
  explicit Compatible(std::initializer_list<BuilderFlag> more = {}) {
    config->setFlag(BuilderFlag::kVERSION_COMPATIBLE);
    for (const BuilderFlag flag : more) config->setFlag(flag);
  }
  Owned<IHostMemory> plan() { return Owned<IHostMemory>(builder->buildSerializedNetwork(*network, *config)); }
};

wootz::OrderedJson header(const void* plan, size_t bytes) {
  const char* const text = wootz_plan_header(plan, bytes);
  return text == nullptr ? wootz::OrderedJson() : wootz::OrderedJson::parse(text);
}

std::span<const std::byte> span_of(const IHostMemory& plan) {
  return {static_cast<const std::byte*>(plan.data()), plan.size()};
}

// The library of the runtime, of this version or the next one, with what it needs.
struct Files {
  explicit Files(const fs::path& runtime, size_t padding = 0) {
    for (const char* name : {"libwootz_omp.so.1", "libhwy.so.1", "libwootz_dnnl.so.3"})
      add(name, fs::path(WOOTZ_LIBRARIES) / name);
    add("libwootz_runtime.so", runtime);
    contents.back().resize(contents.back().size() + padding);  // other bytes, and so another library
    for (size_t i = 0; i < names.size(); ++i) files.push_back({names[i], contents[i]});
    EXPECT_TRUE(wootz::pack_runtime(files, &packed).ok());
  }
  void add(const char* name, const fs::path& path) {
    names.emplace_back(name);
    contents.push_back(read_bytes(path));
    ASSERT_FALSE(contents.back().empty()) << path;
  }
  std::vector<std::string> names;
  std::vector<Bytes> contents;
  std::vector<wootz::RuntimeFile> files;
  wootz::PackedRuntime packed;
};

void seal_header(std::span<std::byte> plan, const std::function<void(wootz::plan_format::Header&)>& change) {
  wootz::plan_format::Header h;
  std::memcpy(static_cast<void*>(&h), plan.data(), sizeof(h));
  change(h);
  h.digest = wootz::plan_format::header_digest(h);
  std::memcpy(plan.data(), &h, sizeof(h));
}

// The same network as a plan of the next version.
Bytes next_plan(std::span<const std::byte> plan, const wootz::PackedRuntime* runtime, uint32_t format = kNextFormat,
                uint32_t writer = kNext) {
  const auto program = wootz::read_plan(plan);
  EXPECT_TRUE(program.ok()) << program.status().to_string();
  const auto bytes = wootz::write_plan(**program, {writer, runtime});
  EXPECT_TRUE(bytes.ok()) << bytes.status().to_string();
  Bytes made(bytes->begin(), bytes->end());
  seal_header(made, [&](wootz::plan_format::Header& h) { h.version = format; });
  return made;
}

void expect_right(const Dense& net, ICudaEngine& engine) {
  const Owned<IExecutionContext> context(engine.createExecutionContext());
  ASSERT_NE(context, nullptr);
  const auto seed = static_cast<float>(wootz::test_seed() % 1000);
  EXPECT_TRUE(context->setInputShape("x", dims({5, 8})));
  const Floats x = rows(5, seed);
  expect_near(run(*context, {{"x", x.data()}}, "y"), net.expected(x));
}

struct Loader {
  explicit Loader(bool allowed) : runtime(createInferRuntime(logger)) { runtime->setEngineHostCodeAllowed(allowed); }
  Owned<ICudaEngine> load(std::span<const std::byte> plan) {
    return Owned<ICudaEngine>(runtime->deserializeCudaEngine(plan.data(), plan.size()));
  }
  bool refuses(std::span<const std::byte> plan, const std::string& why) {
    if (load(plan) != nullptr) return false;
    const std::string said = logger.take_errors();
    EXPECT_NE(said.find(why), std::string::npos) << said;
    return true;
  }
  Logger logger;
  Owned<IRuntime> runtime;
};

TEST(VersionCompatible, PlansHoldTheRuntimeUnlessItIsExcluded) {
  Compatible full, without({BuilderFlag::kEXCLUDE_LEAN_RUNTIME});
  Dense usual;
  const auto plan = full.plan(), lean = without.plan();
  const Owned<IHostMemory> plain(usual.builder->buildSerializedNetwork(*usual.network, *usual.config));
  ASSERT_TRUE(plan != nullptr && lean != nullptr && plain != nullptr) << full.logger.errors();
  EXPECT_EQ(full.logger.warnings() + without.logger.warnings(), "");
  const auto said = header(plan->data(), plan->size());
  EXPECT_EQ(said["format"], wootz::plan_format::kVersion);
  EXPECT_EQ(said["library_version"], wootz::version_text(wootz::library_version()));
  EXPECT_GT(said["runtime_bytes"].get<size_t>(), fs::file_size(wootz_runtime_library()));
  EXPECT_EQ(header(lean->data(), lean->size())["runtime_bytes"], 0);
  EXPECT_LT(lean->size(), size_t{1} << 20);
  EXPECT_EQ(header(plain->data(), plain->size())["version_compatible"], false);
  EXPECT_EQ(header("nonsense", 8), wootz::OrderedJson());
  Loader here(false);
  for (const IHostMemory* each : {plan.get(), lean.get(), plain.get()}) {
    const auto engine = here.load(span_of(*each));  // of this version: nothing in them is run
    ASSERT_NE(engine, nullptr) << here.logger.errors();
    expect_right(full, *engine);
    const Owned<IHostMemory> again(engine->serialize());
    EXPECT_TRUE(std::ranges::equal(span_of(*again), span_of(*each)));
    const Owned<ISerializationConfig> config(engine->createSerializationConfig());
    config->setFlag(SerializationFlag::kEXCLUDE_LEAN_RUNTIME);
    const Owned<IHostMemory> small(engine->serializeWithConfig(*config));
    const IHostMemory& expected = each == plain.get() ? *plain : *lean;
    EXPECT_TRUE(std::ranges::equal(span_of(*small), span_of(expected)));
  }
}

TEST(VersionCompatible, FilesAndStreamsAreTheSameBytes) {
  Compatible net;
  const auto plan = net.plan();
  ASSERT_NE(plan, nullptr) << net.logger.errors();
  const std::string path = (fs::temp_directory_path() / "wootz_versions_e2e.plan").string();
  ASSERT_EQ(wootz_build_file(net.builder.get(), net.network.get(), net.config.get(), path.c_str()), 0);
  EXPECT_TRUE(std::ranges::equal(read_bytes(path), span_of(*plan)));
  fs::remove(path);
  struct Writer final : IStreamWriter {
    int64_t write(const void* data, int64_t count) noexcept override {
      const auto* const from = static_cast<const std::byte*>(data);
      bytes.insert(bytes.end(), from, from + count);
      return count;
    }
    Bytes bytes;
  } writer;
  ASSERT_TRUE(net.builder->buildSerializedNetworkToStream(*net.network, *net.config, writer)) << net.logger.errors();
  EXPECT_TRUE(std::ranges::equal(writer.bytes, span_of(*plan)));
}

TEST(VersionCompatible, AreRunByTheirOwnRuntimeWhereThatIsAskedFor) {
  Compatible net;
  Dense usual;
  const auto plan = net.plan();
  ASSERT_NE(plan, nullptr) << net.logger.errors();
  Loader here(false);
  ASSERT_EQ(wootz_runtime_use_plans_runtime(here.runtime.get(), 1), 0);
  EXPECT_TRUE(here.refuses(span_of(*plan), "setEngineHostCodeAllowed"));
  here.runtime->setEngineHostCodeAllowed(true);
  const Owned<IHostMemory> plain(usual.builder->buildSerializedNetwork(*usual.network, *usual.config));
  EXPECT_TRUE(here.refuses(span_of(*plain), "kVERSION_COMPATIBLE"));
  here.runtime->setTempfileControlFlags(0);
  EXPECT_TRUE(here.refuses(span_of(*plan), "TempfileControlFlag"));
  here.runtime->setTempfileControlFlags(3);
  auto engine = here.load(span_of(*plan));
  ASSERT_NE(engine, nullptr) << here.logger.errors();
  expect_right(net, *engine);
  // What another copy of the library made is no object of this one, and goes to its maker.
  EXPECT_EQ(wootz_engine_on_device(engine.get()), 0);
  EXPECT_EQ(wootz_engine_device(engine.get()), 0);
  EXPECT_EQ(wootz_device_synchronize(engine.get()), 0);
  EXPECT_EQ(createInferRefitter(*engine, here.logger), nullptr);
  EXPECT_EQ(wootz_engine_report(engine.get(), "json"), nullptr) << "it has none";
  here.runtime.reset();
  expect_right(net, *engine);
  EXPECT_EQ(wootz_runtime_use_plans_runtime(nullptr, 1), 1);
}

TEST(VersionCompatible, APlanOfAnotherVersionIsRunByItsRuntime) {
  Compatible net({BuilderFlag::kEXCLUDE_LEAN_RUNTIME});
  const auto lean = net.plan();
  ASSERT_NE(lean, nullptr) << net.logger.errors();
  const fs::path folder = fs::temp_directory_path() / "wootz_versions_e2e";
  fs::create_directories(folder);
  for (const uint32_t flags : {1U, 2U}) {  // TempfileControlFlag: in memory, in the directory
    SCOPED_TRACE(flags);
    const Files files(WOOTZ_NEXT_RUNTIME, flags);
    const Bytes plan = next_plan(span_of(*lean), &files.packed);
    EXPECT_EQ(header(plan.data(), plan.size())["library_version"], "91.2.3");
    Loader here(false);
    here.runtime->setTempfileControlFlags(flags);
    here.runtime->setTemporaryDirectory(folder.c_str());
    EXPECT_TRUE(here.refuses(plan, "version 91.2.3"));
    EXPECT_TRUE(here.refuses(plan, "setEngineHostCodeAllowed"));
    here.runtime->setEngineHostCodeAllowed(true);
    const auto engine = here.load(plan);
    ASSERT_NE(engine, nullptr) << here.logger.errors();
    EXPECT_NE(here.logger.infos().find("version 91.2.3"), std::string::npos);
    expect_right(net, *engine);
    const Owned<IHostMemory> again(engine->serialize());
    ASSERT_NE(again, nullptr) << here.logger.errors();
    EXPECT_EQ(header(again->data(), again->size())["format"], kNextFormat) << "it is that version's engine";
    EXPECT_TRUE(fs::is_empty(folder));
  }
  fs::remove_all(folder);
}

TEST(VersionCompatible, FromAFileAndAStreamToo) {
  Compatible net({BuilderFlag::kEXCLUDE_LEAN_RUNTIME});
  const auto lean = net.plan();
  ASSERT_NE(lean, nullptr) << net.logger.errors();
  const Files files(WOOTZ_NEXT_RUNTIME);
  const Bytes plan = next_plan(span_of(*lean), &files.packed);
  const std::string path = (fs::temp_directory_path() / "wootz_versions_e2e_next.plan").string();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(plan.data()), static_cast<std::streamsize>(plan.size()));
  Loader here(true);
  const Owned<ICudaEngine> mapped(static_cast<ICudaEngine*>(wootz_runtime_load_file(here.runtime.get(), path.c_str())));
  ASSERT_NE(mapped, nullptr) << here.logger.errors();
  expect_right(net, *mapped);
  fs::remove(path);
  struct Reader final : IStreamReaderV2 {
    explicit Reader(const Bytes& from) : bytes(from) {}
    int64_t read(void* to, int64_t count, cudaStream_t) noexcept override {
      const auto n = std::min<int64_t>(count, static_cast<int64_t>(bytes.size()) - at);
      std::memcpy(to, bytes.data() + at, static_cast<size_t>(n));
      at += n;
      return n;
    }
    bool seek(int64_t offset, SeekPosition) noexcept override {
      at += offset;
      return true;
    }
    const Bytes& bytes;
    int64_t at = 0;
  } reader(plan);
  const Owned<ICudaEngine> streamed(here.runtime->deserializeCudaEngine(reader));
  ASSERT_NE(streamed, nullptr) << here.logger.errors();
  expect_right(net, *streamed);
}

TEST(VersionCompatible, ItsRuntimeFindsTheCreatorsThatAreRegisteredHere) {
  Script::reset();
  static ScriptCreator creator;
  Bench b;
  b.config->setFlag(BuilderFlag::kVERSION_COMPATIBLE);
  b.config->setFlag(BuilderFlag::kEXCLUDE_LEAN_RUNTIME);
  ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, ""));
  const PluginFieldCollection none{0, nullptr};
  const Owned<IPluginV3> plugin(creator.createPlugin("p", &none, TensorRTPhase::kBUILD));
  ITensor* x = b.input("x", {4});
  b.output(b.network->addPluginV3(&x, 1, nullptr, 0, *plugin), "y");
  const Owned<IHostMemory> lean(b.builder->buildSerializedNetwork(*b.network, *b.config));
  ASSERT_NE(lean, nullptr) << b.logger.errors();
  const Files files(WOOTZ_NEXT_RUNTIME);
  const Bytes plan = next_plan(span_of(*lean), &files.packed);
  Loader here(true);
  auto engine = here.load(plan);
  ASSERT_NE(engine, nullptr) << here.logger.errors();
  const int before = Script::now().enqueues;
  Owned<IExecutionContext> context(engine->createExecutionContext());
  const Floats input{1, 2, 3, 4};
  EXPECT_EQ(run(*context, {{"x", input.data()}}, "y").size(), 4U);
  EXPECT_EQ(Script::now().enqueues, before + 1);
  context.reset();
  engine.reset();
  here.runtime.reset();
  EXPECT_TRUE(getPluginRegistry()->deregisterCreator(creator));
}

TEST(VersionCompatible, WithoutARuntimeInsideAnotherLibraryIsNamed) {
  Compatible net({BuilderFlag::kEXCLUDE_LEAN_RUNTIME});
  const auto lean = net.plan();
  ASSERT_NE(lean, nullptr) << net.logger.errors();
  const Bytes plan = next_plan(span_of(*lean), nullptr);
  Loader here(true);
  EXPECT_TRUE(here.refuses(plan, "IRuntime::loadRuntime"));
  const Owned<IRuntime> next(here.runtime->loadRuntime(WOOTZ_NEXT_RUNTIME));
  ASSERT_NE(next, nullptr) << here.logger.errors();
  const Owned<ICudaEngine> engine(next->deserializeCudaEngine(plan.data(), plan.size()));
  ASSERT_NE(engine, nullptr) << here.logger.errors();
  expect_right(net, *engine);
  EXPECT_EQ(next->deserializeCudaEngine(lean->data(), lean->size()), nullptr) << "nor does that one read this format";
  // Of another version, but in a format that is read here.
  const Bytes same = next_plan(span_of(*lean), nullptr, wootz::plan_format::kVersion);
  Loader usual(false);
  const auto read = usual.load(same);
  ASSERT_NE(read, nullptr) << usual.logger.errors();
  expect_right(net, *read);
}

TEST(VersionCompatible, ForgedRuntimesAreRefused) {
  Compatible net({BuilderFlag::kEXCLUDE_LEAN_RUNTIME});
  const auto lean = net.plan();
  ASSERT_NE(lean, nullptr) << net.logger.errors();
  Loader here(true);
  // A runtime that is not what the plan says.
  const Files next(WOOTZ_NEXT_RUNTIME);
  EXPECT_TRUE(here.refuses(next_plan(span_of(*lean), &next.packed, kNextFormat, 77 << 16), "of version 91.2.3"));
  // What is no library, and what is no runtime.
  for (const bool library : {false, true}) {
    const Bytes content = library ? read_bytes(fs::path(WOOTZ_LIBRARIES) / "libhwy.so.1") : Bytes(100, std::byte{7});
    const wootz::RuntimeFile files[] = {{"libnone.so", content}};
    wootz::PackedRuntime packed;
    ASSERT_TRUE(wootz::pack_runtime(files, &packed).ok());
    EXPECT_TRUE(here.refuses(next_plan(span_of(*lean), &packed), library ? "of version 0.0.0" : "libnone.so"));
  }
  // Damage, and tables that lie, with the digests made right.
  const Bytes content(1000, std::byte{1});
  const wootz::RuntimeFile files[] = {{"a.so", content}, {"b.so", content}};
  wootz::PackedRuntime packed;
  ASSERT_TRUE(wootz::pack_runtime(files, &packed).ok());
  const Bytes good = next_plan(span_of(*lean), &packed);
  const auto at = wootz::plan_format::outline(good)->runtime;
  std::mt19937 rng(static_cast<unsigned>(wootz::test_seed()));
  for (int i = 0; i < 300; ++i) {
    Bytes bad = good;
    bad[at.offset + rng() % at.length] ^= std::byte{16};
    EXPECT_TRUE(here.refuses(bad, "damaged"));
    for (int k = 0; k < 3; ++k) bad[at.offset + rng() % 128] = static_cast<std::byte>(rng());
    seal_header(bad, [&](wootz::plan_format::Header& h) {
      h.sections[2].digest = wootz::tree_digest(std::span(bad).subspan(at.offset, at.length));
      if (i % 3 == 0) h.sections[2].length += rng() % 3 - 1;
      if (i % 5 == 0) h.sections[2].offset = rng();
    });
    EXPECT_EQ(here.load(bad), nullptr);
  }
}

TEST(VersionCompatible, TheLibraryIsLookedForWhereThatIsSaid) {
  const fs::path folder = fs::temp_directory_path() / "wootz_versions_e2e_folder";
  fs::create_directories(folder);
  ASSERT_TRUE(setInternalLibraryPath(folder.c_str()));
  Compatible net;
  EXPECT_EQ(net.plan(), nullptr);
  EXPECT_NE(net.logger.take_errors().find((folder / "libwootz_runtime.so").string()), std::string::npos);
  EXPECT_EQ(wootz_runtime_library(), nullptr);
  fs::copy_file(WOOTZ_NEXT_RUNTIME, folder / "libwootz_runtime.so");
  EXPECT_EQ(net.plan(), nullptr);
  EXPECT_NE(net.logger.take_errors().find("(of another version)"), std::string::npos);
  EXPECT_TRUE(setInternalLibraryPath(""));
  EXPECT_NE(wootz_runtime_library(), nullptr);
  EXPECT_NE(net.plan(), nullptr) << net.logger.errors();
  fs::remove_all(folder);
}

}  // namespace
}  // namespace wootz_test
