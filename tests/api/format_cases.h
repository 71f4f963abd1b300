// Formats of inputs and outputs whose channels come in vectors: networks that have them, and how memory is to lie,
// worked out from the formats' definition alone.
#pragma once

#include <algorithm>
#include <cstring>
#include <random>

#include "api/harness.h"
#include "base/testing.h"

namespace wootz_test {

struct VectorFormat {
  nvinfer1::TensorFormat format;
  const char* name;
  int rank;
  int64_t group;
  bool innermost;                         // channels behind each other in all of their groups; otherwise group by group
  std::vector<nvinfer1::DataType> types;  // that TensorRT has it for
};
inline std::vector<VectorFormat> vector_formats() {
  using nvinfer1::DataType;
  using nvinfer1::TensorFormat;
  const DataType f32 = DataType::kFLOAT, f16 = DataType::kHALF, bf16 = DataType::kBF16, i8 = DataType::kINT8;
  return {{TensorFormat::kCHW2, "kCHW2", 4, 2, false, {f16, bf16}},
          {TensorFormat::kHWC8, "kHWC8", 4, 8, true, {f16, bf16}},
          {TensorFormat::kCHW4, "kCHW4", 4, 4, false, {i8, f16}},
          {TensorFormat::kCHW16, "kCHW16", 4, 16, false, {f16}},
          {TensorFormat::kCHW32, "kCHW32", 4, 32, false, {f32, f16, i8, DataType::kFP8}},
          {TensorFormat::kDHWC8, "kDHWC8", 5, 8, true, {f16, bf16}},
          {TensorFormat::kCDHW32, "kCDHW32", 5, 32, false, {f16, i8}},
          {TensorFormat::kHWC16, "kHWC16", 4, 16, true, {f16, i8}}};
}
inline constexpr int64_t kChannelCounts[] = {1, 3, 4, 5, 8, 31, 33};

using RawBytes = std::vector<uint8_t>;
using Extents = std::vector<int64_t>;

inline size_t size_of(nvinfer1::DataType type) {
  switch (type) {
    case nvinfer1::DataType::kFLOAT:
    case nvinfer1::DataType::kINT32: return 4;
    case nvinfer1::DataType::kHALF:
    case nvinfer1::DataType::kBF16: return 2;
    case nvinfer1::DataType::kINT64: return 8;
    default: return 1;
  }
}
inline int64_t volume(const Extents& d) {
  int64_t v = 1;
  for (const int64_t extent : d) v *= extent;
  return v;
}
inline nvinfer1::Dims to_dims(const Extents& d) {
  nvinfer1::Dims dims{};
  for (const int64_t extent : d) dims.d[dims.nbDims++] = extent;
  return dims;
}

// [n, c, points] as the format has it; `fill` is between the last channel and the end of its group.
inline RawBytes arranged(const RawBytes& rows, const Extents& d, size_t size, const VectorFormat& f, uint8_t fill) {
  const int64_t channels = d[1], groups = (channels + f.group - 1) / f.group;
  const int64_t points = d[0] * channels == 0 ? 0 : volume(d) / (d[0] * channels);
  RawBytes out(static_cast<size_t>(d[0] * groups * f.group * points) * size, fill);
  for (int64_t n = 0; n < d[0]; ++n)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t p = 0; p < points; ++p) {
        const int64_t at = f.innermost ? (n * points + p) * groups * f.group + c
                                       : ((n * groups + c / f.group) * points + p) * f.group + c % f.group;
        std::memcpy(out.data() + static_cast<size_t>(at) * size,
                    rows.data() + static_cast<size_t>((n * channels + c) * points + p) * size, size);
      }
  return out;
}

// The last two axes exchanged.
inline RawBytes transposed(const RawBytes& rows, const Extents& d, size_t size) {
  const int64_t h = d[d.size() - 2], w = d.back(), images = h * w == 0 ? 0 : volume(d) / (h * w);
  RawBytes out(rows.size());
  for (int64_t i = 0; i < images; ++i)
    for (int64_t y = 0; y < h; ++y)
      for (int64_t x = 0; x < w; ++x)
        std::memcpy(out.data() + static_cast<size_t>((i * w + x) * h + y) * size,
                    rows.data() + static_cast<size_t>((i * h + y) * w + x) * size, size);
  return out;
}
inline Extents transposed(Extents d) {
  std::swap(d[d.size() - 2], d.back());
  return d;
}

// Memory where the engine's addresses point, with a guard behind it.
class EngineMemory {
 public:
  EngineMemory(nvinfer1::ICudaEngine& engine, size_t bytes, uint8_t fill) : engine_(engine), bytes_(bytes) {
    memory_ = wootz_device_allocate(&engine, bytes + kGuard);
    write(RawBytes(bytes + kGuard, fill));
  }
  ~EngineMemory() { wootz_device_free(&engine_, memory_); }
  EngineMemory(const EngineMemory&) = delete;
  EngineMemory& operator=(const EngineMemory&) = delete;
  void write(const RawBytes& bytes) {
    if (!bytes.empty()) EXPECT_EQ(wootz_device_copy(&engine_, memory_, bytes.data(), bytes.size()), 0);
  }
  RawBytes read(uint8_t guard) const {
    RawBytes all(bytes_ + kGuard);
    EXPECT_EQ(wootz_device_copy(&engine_, all.data(), memory_, all.size()), 0);
    EXPECT_EQ(RawBytes(all.end() - kGuard, all.end()), RawBytes(kGuard, guard)) << "written behind the end";
    all.resize(bytes_);
    return all;
  }
  void* address() const { return memory_; }

 private:
  static constexpr size_t kGuard = 64;
  nvinfer1::ICudaEngine& engine_;
  size_t bytes_;
  void* memory_ = nullptr;
};

// For each number of channels: input x<k> in the format, its transpose a<k> row-major; input w<k> row-major, its
// transpose b<k> in the format. Extents of -1 need a profile.
class BorderNet {
 public:
  BorderNet(const VectorFormat& format, nvinfer1::DataType type, const std::vector<Extents>& shapes,
            const char* backend)
      : bench(1U << static_cast<uint32_t>(nvinfer1::NetworkDefinitionCreationFlag::kSTRONGLY_TYPED)),
        format(format),
        type(type),
        shapes(shapes) {
    EXPECT_EQ(wootz_config_set_option(bench.config.get(), "backend", backend), 0);
    EXPECT_EQ(wootz_config_set_option(bench.config.get(), "timing", "0"), 0);
    for (size_t k = 0; k < shapes.size(); ++k) {
      allow(add(k, "x", "a").first);
      allow(add(k, "w", "b").second);
    }
  }
  static std::string name(const char* what, size_t k) { return what + std::to_string(k); }

  // What the engine says of the formats.
  void check_told(nvinfer1::ICudaEngine& engine) const {
    for (size_t k = 0; k < shapes.size(); ++k) {
      for (const char* what : {"x", "b"}) {
        const std::string tensor = name(what, k);
        EXPECT_EQ(engine.getTensorFormat(tensor.c_str()), format.format) << tensor;
        EXPECT_EQ(engine.getTensorComponentsPerElement(tensor.c_str()), format.group);
        EXPECT_EQ(engine.getTensorVectorizedDim(tensor.c_str()), 1);
        EXPECT_EQ(engine.getTensorBytesPerComponent(tensor.c_str()), static_cast<int32_t>(size_of(type)));
        EXPECT_NE(std::string(engine.getTensorFormatDesc(tensor.c_str())).find(std::to_string(format.group)),
                  std::string::npos);
      }
      EXPECT_EQ(engine.getTensorFormat(name("a", k).c_str()), nvinfer1::TensorFormat::kLINEAR);
    }
  }

  // One inference of random bytes, at these extents; both ways are compared bit by bit.
  void check_run(nvinfer1::ICudaEngine& engine, nvinfer1::IExecutionContext& context, const std::vector<Extents>& at,
                 std::mt19937& random) const {
    struct Branch {
      RawBytes rows;
      std::unique_ptr<EngineMemory> x, w, a, b;
      RawBytes want_a, want_b;
    };
    std::vector<Branch> branches(at.size());
    const size_t size = size_of(type);
    for (size_t k = 0; k < at.size(); ++k) {
      Branch& branch = branches[k];
      branch.rows.resize(static_cast<size_t>(volume(at[k])) * size);
      for (uint8_t& byte : branch.rows) byte = static_cast<uint8_t>(random());
      const RawBytes turned = transposed(branch.rows, at[k], size);
      const RawBytes packed = arranged(branch.rows, at[k], size, format, 0xC5);  // what is between is not looked at
      branch.want_a = turned;
      branch.want_b = arranged(turned, transposed(at[k]), size, format, 0);
      branch.x = std::make_unique<EngineMemory>(engine, packed.size(), 0x11);
      branch.x->write(packed);
      branch.w = std::make_unique<EngineMemory>(engine, branch.rows.size(), 0x11);
      branch.w->write(branch.rows);
      branch.a = std::make_unique<EngineMemory>(engine, branch.want_a.size(), 0xEE);
      branch.b = std::make_unique<EngineMemory>(engine, branch.want_b.size(), 0xEE);
      for (const char* what : {"x", "w"})
        ASSERT_TRUE(context.setInputShape(name(what, k).c_str(), to_dims(at[k]))) << bench.logger.errors();
      ASSERT_TRUE(context.setInputTensorAddress(name("x", k).c_str(), branch.x->address()));
      ASSERT_TRUE(context.setInputTensorAddress(name("w", k).c_str(), branch.w->address()));
      ASSERT_TRUE(context.setTensorAddress(name("a", k).c_str(), branch.a->address()));
      ASSERT_TRUE(context.setTensorAddress(name("b", k).c_str(), branch.b->address()));
    }
    for (size_t k = 0; k < at.size(); ++k) check_sizes(context, k, transposed(at[k]), branches[k].want_b.size());
    ASSERT_TRUE(context.enqueueV3(nullptr)) << bench.logger.errors();
    ASSERT_EQ(wootz_device_synchronize(&engine), 0);
    for (size_t k = 0; k < at.size(); ++k) {
      EXPECT_EQ(branches[k].a->read(0xEE), branches[k].want_a) << name("a", k) << ", " << at[k][1] << " channels";
      EXPECT_EQ(branches[k].b->read(0xEE), branches[k].want_b) << name("b", k) << ", " << at[k][1] << " channels";
    }
  }

  mutable Bench bench;
  VectorFormat format;
  nvinfer1::DataType type;
  std::vector<Extents> shapes;

 private:
  std::pair<nvinfer1::ITensor*, nvinfer1::ITensor*> add(size_t k, const char* in, const char* out) {
    nvinfer1::ITensor* x = bench.network->addInput(name(in, k).c_str(), type, to_dims(shapes[k]));
    nvinfer1::IShuffleLayer* shuffle = bench.network->addShuffle(*x);
    nvinfer1::Permutation order{};
    const auto rank = static_cast<int>(shapes[k].size());
    for (int a = 0; a < rank; ++a) order.order[a] = a;
    std::swap(order.order[rank - 1], order.order[rank - 2]);
    shuffle->setFirstTranspose(order);
    bench.output(shuffle, name(out, k).c_str());
    return {x, shuffle->getOutput(0)};
  }
  void allow(nvinfer1::ITensor* tensor) const { tensor->setAllowedFormats(1U << static_cast<uint32_t>(format.format)); }
  // Strides count vectors: they and the number of components give the memory's size, and so does getMaxOutputSize().
  void check_sizes(nvinfer1::IExecutionContext& context, size_t k, const Extents& d, size_t bytes) const {
    const std::string b = name("b", k);
    const int64_t groups = (d[1] + format.group - 1) / format.group;
    Extents want(d.size());
    int64_t step = format.innermost ? groups : 1;
    for (size_t a = d.size() - 1; a >= 2; --a) {
      want[a] = step;
      step *= d[a];
    }
    want[1] = format.innermost ? 1 : step;
    want[0] = format.innermost ? step : step * groups;
    EXPECT_EQ(list(context.getTensorStrides(b.c_str())), want);
    EXPECT_EQ(context.getMaxOutputSize(b.c_str()), static_cast<int64_t>(bytes));
  }
};

// Of the format's rank.
inline Extents image(const VectorFormat& f, int64_t batch, int64_t channels, int64_t h = 3, int64_t w = 5) {
  return f.rank == 5 ? Extents{batch, channels, 2, h, w} : Extents{batch, channels, h, w};
}

// Built and run at fixed extents, one branch for each number of channels.
inline void check_format(const VectorFormat& f, nvinfer1::DataType type, const char* backend, std::mt19937& random) {
  SCOPED_TRACE(std::string(f.name) + ", type " + std::to_string(static_cast<int>(type)));
  std::vector<Extents> shapes;
  for (const int64_t channels : kChannelCounts) shapes.push_back(image(f, 2, channels));
  const BorderNet net(f, type, shapes, backend);
  const Owned<nvinfer1::ICudaEngine> engine = net.bench.engine();
  ASSERT_NE(engine, nullptr) << net.bench.logger.errors();
  net.check_told(*engine);
  const Owned<nvinfer1::IExecutionContext> context(engine->createExecutionContext());
  net.check_run(*engine, *context, shapes, random);
  EXPECT_EQ(net.bench.logger.warnings(), "");
}

// Batch, channels and height open, by two profiles; shapes without elements among them.
inline void check_open_format(const VectorFormat& f, nvinfer1::DataType type, const char* backend, int runs,
                              std::mt19937& random) {
  SCOPED_TRACE(std::string(f.name) + ", open extents");
  const BorderNet net(f, type, {image(f, -1, -1, -1)}, backend);
  constexpr int64_t kMost[] = {8, 40};
  for (const int64_t most : kMost) {
    nvinfer1::IOptimizationProfile* profile = net.bench.builder->createOptimizationProfile();
    for (const char* input : {"x0", "w0"}) {
      using nvinfer1::OptProfileSelector;
      EXPECT_TRUE(profile->setDimensions(input, OptProfileSelector::kMIN, to_dims(image(f, 0, most / 8, 0))));
      EXPECT_TRUE(profile->setDimensions(input, OptProfileSelector::kOPT, to_dims(image(f, 2, most / 2, 3))));
      EXPECT_TRUE(profile->setDimensions(input, OptProfileSelector::kMAX, to_dims(image(f, 3, most, 6))));
    }
    EXPECT_GE(net.bench.config->addOptimizationProfile(profile), 0);
  }
  const Owned<nvinfer1::ICudaEngine> engine = net.bench.engine();
  ASSERT_NE(engine, nullptr) << net.bench.logger.errors();
  net.check_told(*engine);
  EXPECT_EQ(list(engine->getTensorShape("x0"))[1], -1);
  const Owned<nvinfer1::IExecutionContext> context(engine->createExecutionContext());
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int32_t profile = 0; profile < 2; ++profile) {
    ASSERT_TRUE(context->setOptimizationProfileAsync(profile, nullptr));
    const int64_t most = kMost[profile];
    net.check_run(*engine, *context, {image(f, 0, most, 2)}, random);
    net.check_run(*engine, *context, {image(f, 1, most, 0)}, random);
    for (int k = 0; k < runs; ++k)
      net.check_run(*engine, *context, {image(f, pick(1, 3), pick(most / 8, most), pick(1, 6))}, random);
  }
}

}  // namespace wootz_test
