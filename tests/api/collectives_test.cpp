// Every collective gives what NCCL defines, for every type and operation, in and out of place, on
// one domain and on two domains with a coded network between them.

#include <gmock/gmock.h>

#include <ostream>

#include "tests/api/values.hpp"
#include "tests/api/world.hpp"

namespace strait::test {
namespace {

using Bytes = std::vector<std::byte>;
using testing::ElementsAreArray;

const Settings kOneDomain = {};
const Settings kTwoDomains = {{"STRAIT_EMULATE_DOMAINS", "2"}};

struct Layout {
  const char* name;
  int rank_count;
  Settings settings;
};

void PrintTo(const Layout& layout, std::ostream* out) {
  *out << layout.name;
}

const std::vector<Layout> kLayouts = {
    {"alone", 1, kOneDomain},
    {"pair", 2, kOneDomain},
    {"five", 5, kOneDomain},
    {"two_domains", 4, kTwoDomains},
    {"uneven_domains", 5, kTwoDomains},
    {"levels", 4, {{"STRAIT_ALGO", "hierarchical"}, {"STRAIT_EMULATE_DOMAINS", "2"}}},
    {"uneven_levels", 7, {{"STRAIT_ALGO", "hierarchical"}, {"STRAIT_EMULATE_DOMAINS", "3"}}},
    {"ring", 4, {{"STRAIT_ALGO", "ring"}}},
    {"tree", 4, {{"STRAIT_ALGO", "tree"}}},
    {"ring_over_domains", 4, {{"STRAIT_ALGO", "ring"}, {"STRAIT_EMULATE_DOMAINS", "2"}}},
    {"shared_memory", 3, {{"STRAIT_TRANSPORTS", "shm,tcp"}}},
    {"sockets", 3, {{"STRAIT_TRANSPORTS", "tcp"}}},
};

const std::vector<size_t> kCounts = {0, 1, 5, 1000, 100'003};

class Collectives : public testing::TestWithParam<Layout> {
 protected:
  int ranks() const { return GetParam().rank_count; }
  void run(const std::function<void(int, ncclComm_t)>& body) const {
    run_world(ranks(), GetParam().settings, body);
  }
};

double sum_of(int rank_count, size_t index) {
  double sum = 0;
  for (int rank = 0; rank < rank_count; ++rank) sum += sample(rank, index);
  return sum;
}

double reduced(ncclRedOp_t op, int rank_count, size_t index) {
  double value = sample(0, index);
  for (int rank = 1; rank < rank_count; ++rank) {
    const double next = sample(rank, index);
    switch (op) {
      case ncclProd:
        value *= next;
        break;
      case ncclMax:
        value = std::max(value, next);
        break;
      case ncclMin:
        value = std::min(value, next);
        break;
      default:
        value += next;
    }
  }
  return value;
}

Bytes input_of(DataType type, int rank, size_t count, size_t first = 0) {
  return make_values(type, count, [&](size_t i) { return sample(rank, first + i); });
}

TEST_P(Collectives, AllReduceOfEveryTypeAndOperation) {
  run([&](int rank, ncclComm_t comm) {
    for (int type_number = 0; type_number < kDataTypeCount; ++type_number) {
      const auto type = static_cast<DataType>(type_number);
      for (const ncclRedOp_t op : {ncclSum, ncclProd, ncclMax, ncclMin}) {
        const size_t count = 4099;
        const Bytes input = input_of(type, rank, count);
        Bytes output(input.size());
        ASSERT_EQ(ncclAllReduce(input.data(), output.data(), count,
                                static_cast<ncclDataType_t>(type_number), op, comm, nullptr),
                  ncclSuccess)
            << ncclGetLastError(comm);
        const Bytes expected =
            make_values(type, count, [&](size_t i) { return reduced(op, ranks(), i); });
        ASSERT_EQ(output, expected) << name_of(type) << " operation " << op;
      }
    }
  });
}

TEST_P(Collectives, AllReduceOfEverySizeInAndOutOfPlace) {
  run([&](int rank, ncclComm_t comm) {
    for (const size_t count : kCounts) {
      const auto type = DataType::kBfloat16;
      Bytes input = input_of(type, rank, count);
      Bytes output(input.size());
      const Bytes expected = make_values(type, count, [&](size_t i) { return sum_of(ranks(), i); });
      ASSERT_EQ(
          ncclAllReduce(input.data(), output.data(), count, ncclBfloat16, ncclSum, comm, nullptr),
          ncclSuccess);
      ASSERT_EQ(output, expected) << count;
      ASSERT_EQ(
          ncclAllReduce(input.data(), input.data(), count, ncclBfloat16, ncclSum, comm, nullptr),
          ncclSuccess);
      ASSERT_EQ(input, expected) << count << " in place";
    }
  });
}

TEST_P(Collectives, AverageDividesOnce) {
  run([&](int rank, ncclComm_t comm) {
    const size_t count = 777;
    std::vector<int32_t> input(count);
    std::vector<int32_t> expected(count);
    for (size_t i = 0; i < count; ++i) {
      input[i] = static_cast<int32_t>(i) * (rank % 2 == 0 ? 3 : -5) + rank;
      int32_t sum = 0;
      for (int r = 0; r < ranks(); ++r) sum += static_cast<int32_t>(i) * (r % 2 == 0 ? 3 : -5) + r;
      expected[i] = sum / ranks();
    }
    ASSERT_EQ(ncclAllReduce(input.data(), input.data(), count, ncclInt32, ncclAvg, comm, nullptr),
              ncclSuccess);
    EXPECT_THAT(input, ElementsAreArray(expected));

    std::vector<float> values(count, static_cast<float>(rank) * static_cast<float>(ranks()));
    ASSERT_EQ(ncclAllReduce(values.data(), values.data(), count, ncclFloat, ncclAvg, comm, nullptr),
              ncclSuccess);
    const float mean = static_cast<float>(ranks() * (ranks() - 1) / 2);
    for (const float value : values) ASSERT_NEAR(value, mean, mean * 1e-6F);
  });
}

TEST_P(Collectives, PreMultipliedSumUsesEachRanksScalar) {
  run([&](int rank, ncclComm_t comm) {
    const size_t count = 513;
    float scalar = rank % 2 == 0 ? 1.0F : 2.0F;
    ncclRedOp_t op;
    ASSERT_EQ(ncclRedOpCreatePreMulSum(&op, &scalar, ncclFloat, ncclScalarHostImmediate, comm),
              ncclSuccess);
    scalar = -1;  // the operation keeps its own
    std::vector<float> input(count);
    for (size_t i = 0; i < count; ++i) input[i] = static_cast<float>(sample(rank, i));
    std::vector<float> output(count);
    ASSERT_EQ(ncclAllReduce(input.data(), output.data(), count, ncclFloat, op, comm, nullptr),
              ncclSuccess);
    ASSERT_EQ(ncclRedOpDestroy(op, comm), ncclSuccess);
    for (size_t i = 0; i < count; ++i) {
      float expected = 0;
      for (int r = 0; r < ranks(); ++r)
        expected += static_cast<float>(sample(r, i)) * (r % 2 == 0 ? 1.0F : 2.0F);
      ASSERT_EQ(output[i], expected) << i;
    }
    EXPECT_EQ(ncclAllReduce(input.data(), output.data(), count, ncclFloat, op, comm, nullptr),
              ncclInvalidArgument);
  });
}

TEST_P(Collectives, ReduceGoesToEveryRootAndNowhereElse) {
  run([&](int rank, ncclComm_t comm) {
    for (int root = 0; root < ranks(); ++root) {
      for (const size_t count : kCounts) {
        const auto type = DataType::kFloat32;
        const Bytes input = input_of(type, rank, count);
        Bytes output(input.size(), std::byte{0x5a});
        ASSERT_EQ(ncclReduce(input.data(), rank == root ? output.data() : nullptr, count, ncclFloat,
                             ncclSum, root, comm, nullptr),
                  ncclSuccess)
            << ncclGetLastError(comm);
        const Bytes untouched(input.size(), std::byte{0x5a});
        const Bytes sum = make_values(type, count, [&](size_t i) { return sum_of(ranks(), i); });
        ASSERT_EQ(output, rank == root ? sum : untouched) << "root " << root;
      }
    }
  });
}

TEST_P(Collectives, BroadcastFromEveryRoot) {
  run([&](int rank, ncclComm_t comm) {
    for (int root = 0; root < ranks(); ++root) {
      for (const size_t count : kCounts) {
        const auto type = DataType::kInt64;
        const Bytes expected = input_of(type, root, count);
        const Bytes input = rank == root ? expected : Bytes();
        Bytes output(expected.size());
        ASSERT_EQ(ncclBroadcast(input.empty() ? nullptr : input.data(), output.data(), count,
                                ncclInt64, root, comm, nullptr),
                  ncclSuccess)
            << ncclGetLastError(comm);
        ASSERT_TRUE(output == expected) << count;
        Bytes both = rank == root ? expected : Bytes(expected.size());
        ASSERT_EQ(ncclBcast(both.data(), count, ncclInt64, root, comm, nullptr), ncclSuccess);
        ASSERT_TRUE(both == expected) << count;
      }
    }
  });
}

TEST_P(Collectives, AllGatherInAndOutOfPlace) {
  run([&](int rank, ncclComm_t comm) {
    for (const size_t count : kCounts) {
      const auto type = DataType::kFloat16;
      const Bytes input = input_of(type, rank, count);
      Bytes expected;
      for (int r = 0; r < ranks(); ++r) {
        const Bytes part = input_of(type, r, count);
        expected.insert(expected.end(), part.begin(), part.end());
      }
      Bytes output(expected.size());
      ASSERT_EQ(ncclAllGather(input.data(), output.data(), count, ncclHalf, comm, nullptr),
                ncclSuccess)
          << ncclGetLastError(comm);
      ASSERT_TRUE(output == expected) << count;
      Bytes both(expected.size());
      std::byte* mine = both.data() + static_cast<size_t>(rank) * input.size();
      std::copy(input.begin(), input.end(), mine);
      ASSERT_EQ(ncclAllGather(mine, both.data(), count, ncclHalf, comm, nullptr), ncclSuccess);
      ASSERT_TRUE(both == expected) << count << " in place";
    }
  });
}

TEST_P(Collectives, ReduceScatterInAndOutOfPlace) {
  run([&](int rank, ncclComm_t comm) {
    for (const size_t count : kCounts) {
      const auto type = DataType::kBfloat16;
      const size_t first = static_cast<size_t>(rank) * count;
      Bytes input = input_of(type, rank, count * static_cast<size_t>(ranks()));
      const Bytes expected =
          make_values(type, count, [&](size_t i) { return sum_of(ranks(), first + i); });
      Bytes output(expected.size());
      ASSERT_EQ(ncclReduceScatter(input.data(), output.data(), count, ncclBfloat16, ncclSum, comm,
                                  nullptr),
                ncclSuccess)
          << ncclGetLastError(comm);
      ASSERT_TRUE(output == expected) << count;
      std::byte* mine = input.data() + first * size_of(type);
      ASSERT_EQ(ncclReduceScatter(input.data(), mine, count, ncclBfloat16, ncclSum, comm, nullptr),
                ncclSuccess);
      ASSERT_EQ(Bytes(mine, mine + expected.size()), expected) << "in place";
    }
  });
}

TEST_P(Collectives, AllToAll) {
  run([&](int rank, ncclComm_t comm) {
    for (const size_t count : kCounts) {
      const auto type = DataType::kFloat32;
      const auto n = static_cast<size_t>(ranks());
      const Bytes input = input_of(type, rank, count * n);
      Bytes expected;
      for (int r = 0; r < ranks(); ++r) {
        const Bytes part = input_of(type, r, count, static_cast<size_t>(rank) * count);
        expected.insert(expected.end(), part.begin(), part.end());
      }
      Bytes output(input.size());
      ASSERT_EQ(ncclAlltoAll(input.data(), output.data(), count, ncclFloat, comm, nullptr),
                ncclSuccess)
          << ncclGetLastError(comm);
      ASSERT_TRUE(output == expected) << count;
    }
  });
}

TEST_P(Collectives, GatherAndScatter) {
  run([&](int rank, ncclComm_t comm) {
    const int root = ranks() - 1;
    for (const size_t count : kCounts) {
      const auto type = DataType::kUint8;
      Bytes all;
      for (int r = 0; r < ranks(); ++r) {
        const Bytes part = input_of(type, r, count);
        all.insert(all.end(), part.begin(), part.end());
      }
      const Bytes mine = input_of(type, rank, count);
      Bytes gathered(rank == root ? all.size() : 0);
      ASSERT_EQ(ncclGather(mine.data(), rank == root ? gathered.data() : nullptr, count, ncclUint8,
                           root, comm, nullptr),
                ncclSuccess)
          << ncclGetLastError(comm);
      if (rank == root) {
        ASSERT_TRUE(gathered == all) << count;
      }
      Bytes scattered(mine.size());
      ASSERT_EQ(ncclScatter(rank == root ? all.data() : nullptr, scattered.data(), count, ncclUint8,
                            root, comm, nullptr),
                ncclSuccess)
          << ncclGetLastError(comm);
      ASSERT_TRUE(scattered == mine) << count;
    }
  });
}

// Broadcasts open every link of the ring and need one slot; the all-reduce that reuses them needs
// two, or all ranks wait for each other.
TEST(Links, OpenedByAPlanOfOneSlotServeOneThatNeedsTwo) {
  constexpr int kRanks = 4;
  constexpr size_t kCount = 1 << 20;
  const Settings settings = {
      {"STRAIT_SLOTS", "1"}, {"STRAIT_ALGO", "ring"}, {"STRAIT_TIMEOUT_MS", "5000"}};
  run_world(kRanks, settings, [&](int, ncclComm_t comm) {
    std::vector<int32_t> values(kCount, 1);
    for (int root = 0; root < kRanks; ++root)
      ASSERT_EQ(ncclBroadcast(values.data(), values.data(), kCount, ncclInt32, root, comm, nullptr),
                ncclSuccess)
          << ncclGetLastError(comm);
    ASSERT_EQ(
        ncclAllReduce(values.data(), values.data(), kCount, ncclInt32, ncclSum, comm, nullptr),
        ncclSuccess)
        << ncclGetLastError(comm);
    EXPECT_EQ(values, std::vector<int32_t>(kCount, kRanks));
  });
}

std::string name_layout(const testing::TestParamInfo<Layout>& layout) {
  return layout.param.name;
}

INSTANTIATE_TEST_SUITE_P(Layouts, Collectives, testing::ValuesIn(kLayouts), name_layout);

}  // namespace
}  // namespace strait::test
