// What an application binds may end where its memory ends: nothing after it is read or written.
#include <sys/mman.h>

#include <cstring>

#include "api/harness.h"
#include "onnx/model_for_test.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;
using namespace wootz::importer;

// Memory that ends at a page that may not be touched.
class Fenced {
 public:
  explicit Fenced(size_t bytes) : whole_((bytes + kPage - 1) / kPage * kPage) {
    void* map = ::mmap(nullptr, whole_ + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) std::abort();
    map_ = static_cast<char*>(map);
    ::mprotect(map_ + whole_, kPage, PROT_NONE);
    data_ = map_ + whole_ - bytes;
  }
  Fenced(const Fenced&) = delete;
  ~Fenced() { ::munmap(map_, whole_ + kPage); }
  void* data() const { return data_; }

 private:
  static constexpr size_t kPage = 4096;
  size_t whole_;
  char *map_ = nullptr, *data_ = nullptr;
};

// y = conv(x, w): x of UINT8 with a zero point, filters of one element, both ends in one of the formats.
struct Products : Bench {
  static constexpr int64_t kIn = 240, kOut = 64;
  static constexpr int kZero = 121;
  Products(int64_t extent, TensorFormat format, bool by_pixel) : positions(extent * extent), by_pixel(by_pixel) {
    for (int64_t i = 0; i < kIn * positions; ++i) x.push_back(static_cast<uint8_t>(i * 7 % 251));
    for (int64_t i = 0; i < kIn * kOut; ++i) w.push_back(static_cast<int8_t>(i * 5 % 7 - 3));
    ModelProto model = model_for_test();
    GraphProto* graph = model.mutable_graph();
    const std::string side = std::to_string(extent);
    add_input(graph, "x", {"1", std::to_string(kIn), side, side}, TensorProto::UINT8);
    *graph->add_initializer() = raw_tensor<float>("half", TensorProto::FLOAT, {}, {0.5F});
    *graph->add_initializer() = raw_tensor<uint8_t>("zero", TensorProto::UINT8, {}, {kZero});
    *graph->add_initializer() = raw_tensor<int8_t>("w", TensorProto::INT8, {kOut, kIn, 1, 1}, w);
    add_node(graph, "DequantizeLinear", {"x", "half", "zero"}, {"real"}, "x of floats");
    add_node(graph, "DequantizeLinear", {"w", "half"}, {"filter"}, "filter of floats");
    add_node(graph, "Conv", {"real", "filter"}, {"y"}, "products");
    add_output(graph, "y");
    const std::string bytes = model.SerializeAsString();
    const Owned<nvonnxparser::IParser> parser(nvonnxparser::createParser(*network, logger));
    EXPECT_TRUE(parser->parse(bytes.data(), bytes.size())) << logger.errors();
    network->getInput(0)->setAllowedFormats(1U << static_cast<uint32_t>(format));
    network->getOutput(0)->setAllowedFormats(1U << static_cast<uint32_t>(format));
    wootz_config_set_option(config.get(), "leave_out", "native");
  }
  // Where position p of channel c is, of so many.
  size_t at(int64_t p, int64_t c, int64_t channels) const {
    return static_cast<size_t>(by_pixel ? p * channels + c : c * positions + p);
  }
  float expected(int64_t p, int64_t o) const {
    int64_t sum = 0;
    for (int64_t c = 0; c < kIn; ++c) sum += (x[at(p, c, kIn)] - kZero) * w[static_cast<size_t>(o * kIn + c)];
    return static_cast<float>(sum) / 4;
  }
  void expect(const float* y) const {
    for (int64_t p = 0; p < positions; ++p)
      for (int64_t o = 0; o < kOut; ++o) ASSERT_FLOAT_EQ(y[at(p, o, kOut)], expected(p, o)) << p << ' ' << o;
  }

  int64_t positions;
  bool by_pixel;
  std::vector<uint8_t> x;
  std::vector<int8_t> w;
};

void check_products(int64_t extent, TensorFormat format, bool by_pixel) {
  Products b(extent, format, by_pixel);
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  const size_t bytes = sizeof(float) * static_cast<size_t>(Products::kOut * b.positions);
  const Fenced x(b.x.size()), y(bytes);
  std::memcpy(x.data(), b.x.data(), b.x.size());
  void* bindings[] = {x.data(), y.data()};
  ASSERT_TRUE(context->executeV2(bindings)) << b.logger.errors();
  b.expect(static_cast<const float*>(y.data()));
  std::memset(y.data(), 0, bytes);
  ASSERT_TRUE(context->setTensorAddress("x", x.data()));
  ASSERT_TRUE(context->setTensorAddress("y", y.data()));
  ASSERT_TRUE(context->enqueueV3(nullptr)) << b.logger.errors();
  b.expect(static_cast<const float*>(y.data()));
}

TEST(FencedIo, BytesOfAConvolutionEndWhereTheMemoryEnds) {
  for (const int64_t extent : {3, 5, 6, 7}) {
    SCOPED_TRACE(extent);
    check_products(extent, TensorFormat::kLINEAR, false);
    check_products(extent, TensorFormat::kHWC, true);
  }
}

}  // namespace
}  // namespace wootz_test
