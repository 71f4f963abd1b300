// Histograms, the ranges that follow from them, and calibration caches.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "base/testing.h"
#include "quant/calibration_cache.h"

namespace wootz {
namespace {

using Values = std::vector<float>;

Values drawn(std::mt19937_64& random, size_t count, const std::function<double(std::mt19937_64&)>& draw) {
  Values values(count);
  for (float& value : values) value = static_cast<float>(draw(random));
  return values;
}

double normal(std::mt19937_64& random) { return std::normal_distribution<double>(0, 2)(random); }
double relu(std::mt19937_64& random) { return std::max(0.0, normal(random)); }
double heavy(std::mt19937_64& random) { return std::student_t_distribution<double>(2)(random); }

Histogram histogram_of(const std::vector<Values>& batches) {
  Histogram histogram;
  for (const Values& batch : batches) EXPECT_TRUE(histogram.add(batch).ok());
  return histogram;
}

// The relative entropy as it is written down: two lists of probabilities, for every end anew.
size_t best_by_definition(const std::vector<uint64_t>& bins) {
  std::vector<double> counts(bins.begin(), bins.end());
  counts[0] = counts[1];
  size_t best = bins.size();
  double least = std::numeric_limits<double>::infinity();
  for (size_t end = 128; end <= bins.size(); ++end) {
    std::vector<double> p(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(end)), q(end, 0.0);
    std::vector<double> sums(128, 0.0), filled(128, 0.0);
    for (size_t i = 0; i < end; ++i) {
      sums[i * 128 / end] += counts[i];
      filled[i * 128 / end] += counts[i] > 0;
    }
    double inside = 0, all = 0, divergence = 0;
    for (size_t i = 0; i < end; ++i) {
      if (counts[i] > 0) q[i] = sums[i * 128 / end] / filled[i * 128 / end];
      inside += q[i];
    }
    double cut = 0;
    for (size_t i = end; i < counts.size(); ++i) cut += counts[i];
    p[end - 1] += cut;
    for (const double v : p) all += v;
    bool possible = inside > 0 && cut <= all / 10;
    for (size_t i = 0; i < end; ++i) {
      if (p[i] == 0) continue;
      if (q[i] == 0) possible = false;
      divergence += p[i] / all * std::log(p[i] / all / (q[i] / inside));
    }
    if (!possible || divergence > least) continue;
    least = divergence;
    best = end;
  }
  return best;
}

TEST(Ranges, EntropyIsThatOfTheDefinition) {
  std::mt19937_64 random(test_seed());
  for (const auto draw : {normal, relu, heavy}) {
    const Histogram histogram = histogram_of({drawn(random, 20000, draw)});
    ASSERT_EQ(histogram.bins().size(), Histogram::kBins);
    const size_t wanted = best_by_definition(histogram.bins()), found = least_divergent_bin(histogram.bins());
    EXPECT_NEAR(static_cast<double>(found), static_cast<double>(wanted), 1.0);
    for (const RangeMethod method : {RangeMethod::kEntropy, RangeMethod::kEntropy2})
      EXPECT_NEAR(find_range(histogram, {method}), static_cast<double>(found) * histogram.width(), 1e-9);
  }
}

TEST(Ranges, FarOutliersAreCutOff) {
  std::mt19937_64 random(test_seed());
  Values values = drawn(random, 200000, normal);
  values.push_back(100);
  const Histogram histogram = histogram_of({values});
  EXPECT_EQ(find_range(histogram, {RangeMethod::kMinMax}), 100);
  EXPECT_LT(find_range(histogram, {RangeMethod::kEntropy2}), 20);
  EXPECT_GT(find_range(histogram, {RangeMethod::kEntropy2}), 4);
}

// What rounding and cutting at the range change the values by.
double squared_error(const Values& values, double range) {
  double sum = 0;
  for (const float value : values) {
    const double steps = std::clamp(std::nearbyint(value / range * 127), -127.0, 127.0);
    sum += (value - steps * range / 127) * (value - steps * range / 127);
  }
  return sum;
}

// By the errors that rounding has on an average, which are too large for values below half a step: of a few that are
// far from all others, most are.
TEST(Ranges, LeastErrorIsLeast) {
  std::mt19937_64 random(test_seed());
  for (const auto draw : {normal, relu, heavy}) {
    const double slack = draw == heavy ? 1.3 : 1.05;
    const Values values = drawn(random, 20000, draw);
    const Histogram histogram = histogram_of({values});
    const double found = find_range(histogram, {RangeMethod::kLeastError});
    const double error = squared_error(values, found);
    for (const double part : {0.3, 0.5, 0.7, 0.9, 1.0})
      EXPECT_LE(error, slack * squared_error(values, part * histogram.largest())) << found << " " << part;
  }
}

// One value alone is the same before and after rounding: that is no reason to cut all others off.
TEST(Ranges, FewValuesAreNotCutOff) {
  std::mt19937_64 random(test_seed());
  const auto far_from_zero = [](std::mt19937_64& r) { return std::uniform_real_distribution<double>(1, 3)(r); };
  const Histogram histogram = histogram_of({drawn(random, 200, far_from_zero)});
  EXPECT_GT(find_range(histogram, {RangeMethod::kEntropy2}), 2.5);
}

TEST(Ranges, OneValueIsItsRange) {
  for (const RangeMethod method : {RangeMethod::kLegacy, RangeMethod::kEntropy, RangeMethod::kEntropy2,
                                   RangeMethod::kMinMax, RangeMethod::kLeastError}) {
    EXPECT_NEAR(find_range(histogram_of({Values(100, -3.5F)}), {method}), 3.5, 0.002) << range_method_name(method);
    EXPECT_EQ(find_range(histogram_of({Values(100, 0.F)}), {method}), 1) << range_method_name(method);
    EXPECT_EQ(find_range(histogram_of({}), {method}), 1) << range_method_name(method);
  }
}

TEST(Ranges, QuantileAndCutoff) {
  std::mt19937_64 random(test_seed());
  Values values(100000);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float& value : values) value = uniform(random);
  values[0] = 4;
  const Histogram histogram = histogram_of({values});
  RangeRule rule{RangeMethod::kLegacy, 0.9, 0};
  EXPECT_NEAR(find_range(histogram, rule), 0.9, 0.02);
  rule.cutoff = 0.5;
  EXPECT_NEAR(find_range(histogram, rule), 2, 1e-6);
  rule.quantile = 1;
  EXPECT_NEAR(find_range(histogram, rule), 4, 1e-6);
}

TEST(Histograms, BatchesOfAnySizesAreCountedInBoundedMemory) {
  std::mt19937_64 random(test_seed());
  Histogram histogram;
  ASSERT_TRUE(histogram.add(Values(10, 0.F)).ok());
  Values all(10, 0.F);
  for (double scale = 1; scale < 1e6; scale *= 7) {
    Values batch = drawn(random, 1000, normal);
    for (float& value : batch) value *= static_cast<float>(scale);
    ASSERT_TRUE(histogram.add(batch).ok());
    all.insert(all.end(), batch.begin(), batch.end());
  }
  uint64_t counted = 0;
  for (const uint64_t bin : histogram.bins()) counted += bin;
  EXPECT_EQ(counted, all.size());
  EXPECT_EQ(histogram.count(), all.size());
  EXPECT_GT(histogram.bins().size(), Histogram::kBins);
  EXPECT_LE(histogram.bins().size(), 2 * Histogram::kBins);
  // Each bin has what lies in it, but for values on its borders.
  uint64_t low = 0;
  for (const float value : all) low += std::abs(static_cast<double>(value)) < histogram.width() * 100;
  uint64_t binned = 0;
  for (size_t bin = 0; bin < 100; ++bin) binned += histogram.bins()[bin];
  EXPECT_NEAR(static_cast<double>(binned), static_cast<double>(low), 2);
}

TEST(Histograms, WhatIsNotFiniteIsAnError) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Histogram histogram;
    EXPECT_FALSE(histogram.add(Values{1, bad, 2}).ok());
    EXPECT_EQ(histogram.count(), 0u);
  }
}

TEST(CalibrationCaches, ReadAsTensorRTWritesThem) {
  const Result<CalibrationCache> cache =
      read_calibration_cache("TRT-7000-EntropyCalibration2\ndata: 3c008912\nscope::conv1: 3c88edfc\r\n\n");
  ASSERT_TRUE(cache.ok()) << cache.status().to_string();
  EXPECT_EQ(cache->method, RangeMethod::kEntropy2);
  ASSERT_EQ(cache->scales.size(), 2u);
  EXPECT_NEAR(cache->scales.at("data"), 0.00784518, 1e-7);
  EXPECT_NEAR(cache->scales.at("scope::conv1"), 0.0167150, 1e-6);
}

TEST(CalibrationCaches, WrittenAndReadAgain) {
  std::mt19937_64 random(test_seed());
  CalibrationCache cache;
  for (int i = 0; i < 50; ++i)
    cache.scales[fmt::format("t{}: {}", i, i)] = static_cast<float>(std::exp(normal(random) * 4));
  for (const RangeMethod method : {RangeMethod::kLegacy, RangeMethod::kEntropy, RangeMethod::kMinMax}) {
    cache.method = method;
    const std::string text = write_calibration_cache(cache, 101600);
    EXPECT_EQ(text.rfind(fmt::format("TRT-101600-{}\n", range_method_name(method)), 0), 0u);
    const Result<CalibrationCache> read = read_calibration_cache(text);
    ASSERT_TRUE(read.ok()) << read.status().to_string();
    EXPECT_EQ(read->method, method);
    EXPECT_EQ(read->scales, cache.scales);
    EXPECT_EQ(write_calibration_cache(*read, 101600), text);
  }
}

// What TensorRT writes of a tensor without any value but 0.
TEST(CalibrationCaches, AScaleOfNothingIsThatOfZeros) {
  const Result<CalibrationCache> cache = read_calibration_cache("TRT-8000-MinMaxCalibration\ndead: 0\n");
  ASSERT_TRUE(cache.ok()) << cache.status().to_string();
  Histogram zeros;
  ASSERT_TRUE(zeros.add(std::vector<float>(9)).ok());
  EXPECT_EQ(cache->scales.at("dead"), int8_scale(find_range(zeros, {})));
}

TEST(CalibrationCaches, OtherTextIsRefusedByItsLine) {
  const struct {
    const char* text;
    const char* said;
  } cases[] = {
      {"", "line 1"},
      {"data: 3c008912\n", "line 1"},
      {"TRT-7000-NoCalibration\n", "'NoCalibration'"},
      {"TRT-7000-MinMaxCalibration\nx: 3c008912\ndata 3c008912\n", "line 3"},
      {"TRT-7000-MinMaxCalibration\ndata: 3c00891g\n", "line 2"},
      {"TRT-7000-MinMaxCalibration\ndata: 13c008912\n", "line 2"},
      {"TRT-7000-MinMaxCalibration\ndata: bc008912\n", "no positive number"},
      {"TRT-7000-MinMaxCalibration\ndata: 7fc00000\n", "no positive number"},
      {"TRT-7000-MinMaxCalibration\na: 3c008912\na: 3c008912\n", "line 3: a second scale for 'a'"},
  };
  for (const auto& c : cases) {
    const Result<CalibrationCache> cache = read_calibration_cache(c.text);
    ASSERT_FALSE(cache.ok()) << c.text;
    EXPECT_NE(cache.status().message().find(c.said), std::string::npos) << cache.status().to_string();
  }
}

}  // namespace
}  // namespace wootz
