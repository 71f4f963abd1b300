#include <functional>

#include "backends/cpu/move/strided_copy.h"
#include "backends/cpu/move/transpose_block.h"
#include "backends/cpu/testing/kernel_runner.h"

namespace wootz::cpu {
namespace {

using Index = std::vector<int64_t>;
using Ints = std::vector<int64_t>;

// out[index] = x[from(index)]; an empty source means the fill value.
HostTensor gathered(const HostTensor& x, const Dims& out, double fill, const std::function<Index(const Index&)>& from) {
  HostTensor y = HostTensor::allocate(x.dtype(), out).value();
  const Dims strides = out.strides();
  for (int64_t i = 0; i < y.volume(); ++i) {
    Index index;
    for (size_t d = 0; d < out.size(); ++d) index.push_back(i / strides[d] % out[d]);
    const Index source = from(index);
    if (source.empty() && x.rank() > 0) {
      y.set_f64(i, fill);
      continue;
    }
    int64_t at = 0;
    for (size_t d = 0; d < x.dims().size(); ++d) at = at * x.dims()[d] + source[d];
    if (is_float(x.dtype()))
      y.set_f64(i, x.get_f64(at));
    else
      y.set_i64(i, x.get_i64(at));
  }
  return y;
}

void check_move(MoveParams params, const std::vector<HostTensor>& in, const std::vector<HostTensor>& want,
                bool offered = true) {
  Problem p;
  p.params = std::move(params);
  p.num_main = static_cast<int>(in.size());
  for (const HostTensor& t : in) p.inputs.push_back(rig::desc_of(t));
  for (const HostTensor& t : want) p.outputs.push_back(rig::desc_of(t));
  SCOPED_TRACE(p.key());
  rig::check(p, in, want, {.tolerance = 0, .misaligned = in[0].volume() % 2 == 0, .expect_offer = offered});
}

const DType kTypes[] = {DType::kF32, DType::kF16, DType::kI8, DType::kI64, DType::kBool};

TEST(Move, TransposesOfManyShapes) {
  std::mt19937_64 rng(rig::seed());
  struct Case {
    Dims dims;
    Ints perm;
  };
  const Case cases[] = {{{3, 5}, {1, 0}},
                        {{67, 45}, {1, 0}},
                        {{2, 33, 40}, {0, 2, 1}},
                        {{2, 3, 4, 5}, {0, 2, 1, 3}},
                        {{2, 9, 6, 8}, {0, 2, 3, 1}},
                        {{2, 6, 8, 19}, {0, 3, 1, 2}},
                        {{5, 4, 3, 2}, {3, 2, 1, 0}},
                        {{2, 3, 2, 3, 4}, {4, 0, 3, 1, 2}},
                        {{7}, {0}},
                        {{1, 5, 1, 3}, {2, 3, 0, 1}},
                        {{0, 3}, {1, 0}},
                        {{128, 130}, {1, 0}},
                        {{2, 3, 7, 11}, {0, 2, 3, 1}},  // images of few channels
                        {{1, 2, 9, 6}, {0, 2, 3, 1}},
                        {{3, 3, 50}, {1, 2, 0}}};
  for (const Case& c : cases)
    for (DType type : kTypes) {
      const HostTensor x = rig::random_tensor(rng, type, c.dims, -100, 100);
      Dims out;
      for (int64_t d : c.perm) out.push_back(c.dims[static_cast<size_t>(d)]);
      const HostTensor y = gathered(x, out, 0, [&](const Index& i) {
        Index from(i.size());
        for (size_t d = 0; d < i.size(); ++d) from[static_cast<size_t>(c.perm[d])] = i[d];
        return from;
      });
      check_move({.kind = MoveKind::kTranspose, .perm = c.perm}, {x}, {y});
    }
}

TEST(Move, Slices) {
  std::mt19937_64 rng(rig::seed());
  struct Case {
    Dims dims, out;
    Ints starts, steps;
  };
  const Case cases[] = {{{10}, {3}, {2}, {1}},
                        {{10}, {4}, {9}, {-3}},
                        {{5, 8}, {2, 8}, {1, 0}, {2, 1}},
                        {{5, 8}, {5, 3}, {0, 5}, {1, 1}},
                        {{2, 16, 4, 4}, {2, 8, 4, 4}, {0, 8, 0, 0}, {1, 1, 1, 1}},
                        {{2, 6, 5, 7}, {2, 6, 3, 3}, {0, 0, 0, 1}, {1, 1, 2, 2}},
                        {{4, 4}, {0, 4}, {4, 0}, {1, 1}},
                        {{3, 4}, {3, 4}, {2, 3}, {-1, -1}}};
  for (const Case& c : cases)
    for (DType type : kTypes) {
      const HostTensor x = rig::random_tensor(rng, type, c.dims, -100, 100);
      const HostTensor y = gathered(x, c.out, 0, [&](const Index& i) {
        Index from;
        for (size_t d = 0; d < i.size(); ++d) from.push_back(c.starts[d] + i[d] * c.steps[d]);
        return from;
      });
      check_move({.kind = MoveKind::kSlice, .starts = c.starts, .steps = c.steps}, {x}, {y});
    }
}

TEST(Move, RefusesSlicesThatLeaveTheTensor) {
  const HostTensor x = HostTensor::allocate(DType::kF32, {5}).value();
  struct Case {
    int64_t start, step, count;
  };
  for (const Case& c : {Case{3, 1, 3}, Case{-1, 1, 2}, Case{5, 1, 1}, Case{1, -1, 3}, Case{0, INT64_MAX, 2},
                        Case{0, 0, 2}, Case{INT64_MIN, 1, 1}, Case{0, INT64_MIN, 3}})
    check_move({.kind = MoveKind::kSlice, .starts = Ints{c.start}, .steps = Ints{c.step}}, {x},
               {HostTensor::allocate(DType::kF32, {c.count}).value()}, false);
}

TEST(Move, ConcatAndSplit) {
  std::mt19937_64 rng(rig::seed());
  struct Case {
    std::vector<Dims> parts;
    int axis;
  };
  const Case cases[] = {{{{2, 3}, {2, 5}}, 1},
                        {{{2, 3}, {1, 3}, {4, 3}}, 0},
                        {{{2, 16, 3, 3}, {2, 8, 3, 3}}, 1},
                        {{{2, 3, 4, 4}, {2, 5, 4, 4}, {2, 0, 4, 4}}, 1},
                        {{{2, 4, 3, 2}, {2, 4, 3, 5}}, 3},
                        {{{1}, {1}}, 0},
                        {{{2, 16, 2, 2}, {2, 16, 3, 2}}, 2}};
  for (const Case& c : cases)
    for (DType type : kTypes) {
      std::vector<HostTensor> parts;
      Dims whole = c.parts[0];
      const auto a = static_cast<size_t>(c.axis);
      whole[a] = 0;
      for (const Dims& d : c.parts) {
        parts.push_back(rig::random_tensor(rng, type, d, -100, 100));
        whole[a] += d[a];
      }
      HostTensor all = HostTensor::allocate(type, whole).value();
      const Dims strides = whole.strides();
      for (int64_t i = 0; i < all.volume(); ++i) {
        int64_t k = i / strides[a] % whole[a];
        size_t part = 0;
        while (k >= c.parts[part][a]) k -= c.parts[part++][a];
        int64_t at = 0;
        for (size_t d = 0; d < whole.size(); ++d) at = at * c.parts[part][d] + (d == a ? k : i / strides[d] % whole[d]);
        all.set_f64(i, parts[part].get_f64(at));
      }
      check_move({.kind = MoveKind::kConcat, .axis = c.axis}, parts, {all});
      check_move({.kind = MoveKind::kSplit, .axis = c.axis}, {all}, parts);
    }
  const HostTensor x = HostTensor::allocate(DType::kF32, {2, 3}).value();
  check_move({.kind = MoveKind::kConcat, .axis = 1}, {x, x}, {HostTensor::allocate(DType::kF32, {2, 5}).value()},
             false);
  check_move({.kind = MoveKind::kConcat, .axis = 7}, {x, x}, {HostTensor::allocate(DType::kF32, {2, 6}).value()},
             false);
}

TEST(Move, Pads) {
  std::mt19937_64 rng(rig::seed());
  struct Case {
    Dims dims;
    Ints pads;
  };
  const Case cases[] = {{{4}, {2, 3}},
                        {{2, 3, 5, 4}, {0, 0, 1, 2, 0, 0, 3, 1}},
                        {{3, 4}, {-1, 1, 2, -2}},
                        {{3, 5}, {7, 11, 8, 12}},
                        {{2, 16, 3, 3}, {0, 0, 1, 1, 0, 0, 1, 1}},
                        {{1, 1}, {2, 2, 2, 2}},
                        {{2, 3, 4}, {1, 0, 0, 0, 2, 0}}};
  for (const Case& c : cases)
    for (PadMode mode : {PadMode::kConstant, PadMode::kEdge, PadMode::kReflect, PadMode::kWrap})
      for (DType type : kTypes) {
        const size_t rank = c.dims.size();
        Dims out;
        for (size_t d = 0; d < rank; ++d) out.push_back(c.dims[d] + c.pads[d] + c.pads[d + rank]);
        const HostTensor x = rig::random_tensor(rng, type, c.dims, -100, 100);
        const HostTensor y = gathered(x, out, type == DType::kBool ? 1 : -3, [&](const Index& i) {
          Index from;
          for (size_t d = 0; d < rank; ++d) {
            int64_t k = i[d] - c.pads[d];
            const int64_t n = c.dims[d];
            if (mode == PadMode::kConstant && (k < 0 || k >= n)) return Index();
            while (k < 0 || k >= n) {
              if (mode == PadMode::kEdge)
                k = k < 0 ? 0 : n - 1;
              else if (mode == PadMode::kWrap)
                k += k < 0 ? n : -n;
              else
                k = n == 1 ? 0 : k < 0 ? -k : 2 * (n - 1) - k;
            }
            from.push_back(k);
          }
          return from;
        });
        check_move({.kind = MoveKind::kPad, .pads = c.pads, .mode = mode, .value = -3.0}, {x}, {y});
      }
  const HostTensor empty = HostTensor::allocate(DType::kF32, {0, 2}).value();
  HostTensor filled = HostTensor::allocate(DType::kF32, {3, 2}).value();
  for (int64_t i = 0; i < 6; ++i) filled.set_f64(i, 7);
  check_move({.kind = MoveKind::kPad, .pads = Ints{1, 0, 2, 0}, .value = 7.0}, {empty}, {filled});
  check_move({.kind = MoveKind::kPad, .pads = Ints{1, 0, 2, 0}, .mode = PadMode::kEdge}, {empty}, {filled}, false);
}

TEST(Move, ExpandAndTile) {
  std::mt19937_64 rng(rig::seed());
  struct Case {
    Dims dims, out;
  };
  for (const Case& c : {Case{{1}, {7}}, Case{{3, 1}, {3, 70}}, Case{{4}, {2, 3, 4}}, Case{{1, 5, 1, 1}, {2, 5, 4, 3}},
                        Case{{}, {3, 3}}, Case{{2, 1, 3}, {2, 0, 3}}, Case{{1, 16, 1, 3}, {2, 16, 4, 3}}})
    for (DType type : kTypes) {
      const HostTensor x = rig::random_tensor(rng, type, c.dims, -100, 100);
      const HostTensor y = gathered(x, c.out, 0, [&](const Index& i) {
        Index from;
        const size_t skip = c.out.size() - c.dims.size();
        for (size_t d = 0; d < c.dims.size(); ++d) from.push_back(c.dims[d] == 1 ? 0 : i[d + skip]);
        return from;
      });
      check_move({.kind = MoveKind::kExpand}, {x}, {y});
    }
  for (const Case& c : {Case{{3}, {9}}, Case{{2, 3}, {4, 9}}, Case{{2, 3, 2}, {2, 6, 2}},
                        Case{{2, 3, 2, 2}, {4, 6, 4, 2}}, Case{{0, 2}, {0, 4}}, Case{{2, 2}, {0, 2}}})
    for (DType type : kTypes) {
      const HostTensor x = rig::random_tensor(rng, type, c.dims, -100, 100);
      const HostTensor y = gathered(x, c.out, 0, [&](const Index& i) {
        Index from;
        for (size_t d = 0; d < c.dims.size(); ++d) from.push_back(i[d] % c.dims[d]);
        return from;
      });
      check_move({.kind = MoveKind::kTile}, {x}, {y});
    }
}

TEST(Move, DepthAndSpace) {
  std::mt19937_64 rng(rig::seed());
  for (int64_t b : {1, 2, 3})
    for (BlockOrder order : {BlockOrder::kDcr, BlockOrder::kCrd}) {
      const int64_t c = 5;
      const HostTensor deep = rig::random_tensor(rng, DType::kF32, {2, c * b * b, 3, 4});
      const HostTensor wide = gathered(deep, {2, c, 3 * b, 4 * b}, 0, [&](const Index& i) {
        const int64_t b1 = i[2] % b, b2 = i[3] % b;
        const int64_t channel = order == BlockOrder::kDcr ? (b1 * b + b2) * c + i[1] : (i[1] * b + b1) * b + b2;
        return Index{i[0], channel, i[2] / b, i[3] / b};
      });
      check_move({.kind = MoveKind::kDepthToSpace, .block = b, .order = order}, {deep}, {wide});
      if (order == BlockOrder::kDcr) check_move({.kind = MoveKind::kSpaceToDepth, .block = b}, {wide}, {deep});
    }
}

TEST(Move, RandomBoxes) {
  std::mt19937_64 rng(rig::seed());
  for (int round = 0; round < 300; ++round) {
    const int rank = 1 + static_cast<int>(rng() % 4);
    const int bytes = 1 << (rng() % 4);
    StridedCopy copy(bytes);
    std::vector<int64_t> extents, in, out(static_cast<size_t>(rank)), order;
    for (int d = 0; d < rank; ++d) extents.push_back(static_cast<int64_t>(rng() % 40 + 1)), order.push_back(d);
    std::shuffle(order.begin(), order.end(), rng);
    int64_t volume = 1;
    for (int64_t d : order) {
      out[static_cast<size_t>(d)] = volume;
      volume *= extents[static_cast<size_t>(d)];
    }
    int64_t step = 1;
    for (int d = 0; d < rank; ++d) {
      in.push_back(rng() % 5 == 0 ? 0 : step);
      step *= extents[static_cast<size_t>(d)] + static_cast<int64_t>(rng() % 2);
      copy.add(extents[static_cast<size_t>(d)], in.back(), out[static_cast<size_t>(d)]);
    }
    if (volume > 400000) continue;
    std::vector<uint8_t> from(static_cast<size_t>((step + 1) * bytes)), to(static_cast<size_t>(volume * bytes)),
        want = to;
    for (auto& v : from) v = static_cast<uint8_t>(rng());
    for (int64_t i = 0; i < volume; ++i) {
      int64_t a = 0, b = 0, rest = i;
      for (size_t d = 0; d < extents.size(); ++d) {
        a += rest % extents[d] * in[d];
        b += rest % extents[d] * out[d];
        rest /= extents[d];
      }
      std::memcpy(&want[static_cast<size_t>(b * bytes)], &from[static_cast<size_t>(a * bytes)],
                  static_cast<size_t>(bytes));
    }
    copy.prepare();
    copy.run(from.data(), to.data());
    ASSERT_TRUE(to == want) << "round " << round << " seed " << rig::seed();
  }
}

}  // namespace
}  // namespace wootz::cpu
