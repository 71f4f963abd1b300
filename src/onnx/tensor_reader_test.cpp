#include "onnx/tensor_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/half.h"
#include "onnx/model_for_test.h"
#include "onnx/tensor_file.h"

namespace wootz::importer {
namespace {

using ::testing::HasSubstr;

Result<HostTensor> read(const TensorProto& tensor) {
  TensorProto own = tensor;
  TensorReader reader(ExternalFiles("", false));
  return reader.read(own);
}

std::string refusal(const TensorProto& tensor) {
  const Result<HostTensor> result = read(tensor);
  return result.ok() ? "accepted" : result.status().message();
}

std::vector<double> values(const HostTensor& tensor) {
  std::vector<double> out;
  for (int64_t i = 0; i < tensor.volume(); ++i) out.push_back(tensor.get_f64(i));
  return out;
}

TensorProto typed(int type, std::vector<int64_t> dims) {
  TensorProto tensor;
  tensor.set_name("t");
  tensor.set_data_type(type);
  for (const int64_t extent : dims) tensor.add_dims(extent);
  return tensor;
}

TensorProto int32_tensor(int type, std::vector<int64_t> dims, std::vector<int32_t> data) {
  TensorProto tensor = typed(type, std::move(dims));
  for (const int32_t v : data) tensor.add_int32_data(v);
  return tensor;
}

TEST(TensorReader, RawDataIsTakenWithoutACopy) {
  TensorProto tensor = raw_tensor<float>("w", TensorProto::FLOAT, {64}, std::vector<float>(64, 1.5f));
  const void* bytes = tensor.raw_data().data();
  TensorReader reader(ExternalFiles("", false));
  const Result<HostTensor> once = reader.read(tensor);
  ASSERT_TRUE(once.ok()) << once.status().to_string();
  EXPECT_EQ(once->data(), bytes);
  EXPECT_TRUE(tensor.raw_data().empty());
  const Result<HostTensor> again = reader.read(tensor);  // bytes are gone from the message, not from the reader
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->data(), bytes);
}

TEST(TensorReader, WrongRawSize) {
  EXPECT_THAT(refusal(raw_tensor<float>("w", TensorProto::FLOAT, {3}, {1, 2})),
              HasSubstr("raw_data has 8 bytes, type f32 and shape [3] want 12"));
  EXPECT_THAT(refusal(raw_tensor<float>("w", TensorProto::FLOAT, {1}, {1, 2})), HasSubstr("want 4"));
  EXPECT_THAT(refusal(raw_tensor<char>("w", TensorProto::INT4, {5}, {0, 0})), HasSubstr("want 3"));
  EXPECT_THAT(refusal(typed(TensorProto::FLOAT, {2})), HasSubstr("no data"));
}

TEST(TensorReader, RawAndTypedTogether) {
  TensorProto tensor = raw_tensor<float>("w", TensorProto::FLOAT, {2}, {1, 2});
  tensor.add_float_data(1);
  tensor.add_float_data(2);
  EXPECT_THAT(refusal(tensor), HasSubstr("data in 2 fields"));
}

TEST(TensorReader, DimensionsAreChecked) {
  EXPECT_NE(refusal(raw_tensor<float>("w", TensorProto::FLOAT, {-1}, {1})), "accepted");
  EXPECT_NE(refusal(typed(TensorProto::FLOAT, {-2, -2})), "accepted");
  EXPECT_NE(refusal(typed(TensorProto::FLOAT, {int64_t{1} << 32, int64_t{1} << 32})), "accepted");
  EXPECT_NE(refusal(typed(TensorProto::FLOAT, {int64_t{1} << 62, 4, 0})), "accepted");
  EXPECT_THAT(refusal(typed(TensorProto::FLOAT, {1, 1, 1, 1, 1, 1, 1, 1, 1})), HasSubstr("rank 9, the limit is 8"));
  TensorProto one = typed(TensorProto::FLOAT, {int64_t{1} << 39});  // no memory is asked for before the sizes agree
  one.add_float_data(1);
  EXPECT_THAT(refusal(one), HasSubstr("float_data has 1 elements"));
}

TEST(TensorReader, EmptyAndScalar) {
  const Result<HostTensor> empty = read(typed(TensorProto::FLOAT, {0, 3}));
  ASSERT_TRUE(empty.ok()) << empty.status().to_string();
  EXPECT_EQ(empty->volume(), 0);
  TensorProto scalar = typed(TensorProto::FLOAT, {});
  scalar.add_float_data(2.5f);
  const Result<HostTensor> one = read(scalar);
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(values(*one), std::vector<double>{2.5});
  EXPECT_THAT(refusal(raw_tensor<float>("w", TensorProto::FLOAT, {0}, {1})), HasSubstr("want 0"));
}

TEST(TensorReader, TypesThatWeDoNotHave) {
  EXPECT_THAT(refusal(typed(TensorProto::STRING, {1})), HasSubstr("STRING is not supported"));
  EXPECT_THAT(refusal(typed(TensorProto::COMPLEX64, {1})), HasSubstr("COMPLEX64"));
  EXPECT_THAT(refusal(typed(TensorProto::FLOAT6E2M3, {1})), HasSubstr("FLOAT6E2M3"));
  EXPECT_THAT(refusal(typed(0, {1})), HasSubstr("element type 0"));
  EXPECT_THAT(refusal(typed(12345, {1})), HasSubstr("12345"));
}

TEST(TensorReader, NarrowTypesInInt32Data) {
  struct Case {
    int type;
    std::vector<int32_t> data;
    std::vector<double> expected;
  };
  const std::vector<Case> cases = {
      {TensorProto::INT8, {-128, 127}, {-128, 127}},
      {TensorProto::UINT8, {0, 255}, {0, 255}},
      {TensorProto::INT16, {-32768, 32767}, {-32768, 32767}},
      {TensorProto::UINT16, {1, 65535}, {1, 65535}},
      {TensorProto::BOOL, {0, 1}, {0, 1}},
      {TensorProto::FLOAT16, {0x3c00, 0xc000}, {1, -2}},
      {TensorProto::BFLOAT16, {0x3f80, 0xc000}, {1, -2}},
      {TensorProto::FLOAT8E4M3FN, {0x38, 0xc0}, {1, -2}},
      {TensorProto::FLOAT8E5M2, {0x3c, 0xc0}, {1, -2}},
      {TensorProto::UINT4, {0x21}, {1, 2}},
      {TensorProto::INT4, {0xf7}, {7, -1}},
      {TensorProto::FLOAT4E2M1, {0xa2}, {1, -1}},
  };
  for (const Case& c : cases) {
    const Result<HostTensor> tensor = read(int32_tensor(c.type, {2}, c.data));
    ASSERT_TRUE(tensor.ok()) << onnx_type_name(c.type) << ": " << tensor.status().to_string();
    EXPECT_EQ(values(*tensor), c.expected) << onnx_type_name(c.type);
  }
  const Result<HostTensor> two_bit = read(int32_tensor(TensorProto::UINT2, {4}, {0b11'10'01'00}));
  ASSERT_TRUE(two_bit.ok());
  EXPECT_EQ(values(*two_bit), (std::vector<double>{0, 1, 2, 3}));
  EXPECT_THAT(refusal(int32_tensor(TensorProto::INT8, {1}, {300})), HasSubstr("element 0 is 300"));
  EXPECT_THAT(refusal(int32_tensor(TensorProto::INT4, {4}, {1, 2, 3, 4})), HasSubstr("int32_data has 4 elements"));
}

TEST(TensorReader, WideTypesInTheirFields) {
  TensorProto u32 = typed(TensorProto::UINT32, {1});
  u32.add_uint64_data(4'000'000'000u);
  ASSERT_TRUE(read(u32).ok());
  EXPECT_EQ(values(*read(u32)), std::vector<double>{4e9});
  u32.set_uint64_data(0, uint64_t{1} << 32);
  EXPECT_THAT(refusal(u32), HasSubstr("does not fit in u32"));
  TensorProto wrong_field = typed(TensorProto::INT64, {1});
  wrong_field.add_int32_data(1);
  EXPECT_THAT(refusal(wrong_field), HasSubstr("int64_data has 0 elements"));
}

TEST(TensorReader, BoolsBecomeZeroAndOne) {
  const Result<HostTensor> tensor = read(raw_tensor<uint8_t>("b", TensorProto::BOOL, {3}, {0, 2, 255}));
  ASSERT_TRUE(tensor.ok());
  const auto* bytes = static_cast<const uint8_t*>(tensor->data());
  EXPECT_EQ(bytes[0] + bytes[1] + bytes[2], 2);
}

TEST(TensorFile, RoundTrip) {
  const std::vector<float> data = {1, -2, 3, 4, 5, 6};
  const HostTensor tensor = HostTensor::from<float>(data, Dims{2, 3});
  const Result<std::string> bytes = serialize_onnx_tensor("x", tensor);
  ASSERT_TRUE(bytes.ok());
  const Result<NamedTensor> back = parse_onnx_tensor(std::as_bytes(std::span(*bytes)));
  ASSERT_TRUE(back.ok()) << back.status().to_string();
  EXPECT_EQ(back->name, "x");
  EXPECT_EQ(back->tensor.dims(), (Dims{2, 3}));
  EXPECT_EQ(values(back->tensor), values(tensor));
  for (size_t length = 1; length < bytes->size(); ++length)
    (void)parse_onnx_tensor(std::as_bytes(std::span(*bytes)).first(length)).ok();  // refused or not: no crash
}

}  // namespace
}  // namespace wootz::importer
