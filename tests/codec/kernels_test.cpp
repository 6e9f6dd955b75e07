// Every implementation that this processor can run gives the same bytes and the same values.
#include "codec/kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "codec/codec.hpp"
#include "codec/dispatch.hpp"
#include "codec/samples.hpp"

namespace strait::codec {
namespace {

class ForcedKernels {
 public:
  explicit ForcedKernels(const Kernels* kernels) { EXPECT_TRUE(force_kernels(kernels->name)); }
  ForcedKernels(const ForcedKernels&) = delete;
  ~ForcedKernels() { EXPECT_TRUE(force_kernels("")); }
};

class Implementations : public testing::TestWithParam<DataType> {};

TEST_P(Implementations, GiveTheSameBytesAndValues) {
  const DataType type = GetParam();
  const size_t count = 16384 + 3 * 512 + 5;
  for (const Sample& sample : samples(type, count))
    for (Mode mode : {Mode::kFast, Mode::kDense}) {
      SCOPED_TRACE(sample.name);
      std::vector<std::byte> expected;
      for (const Kernels* kernels : available_kernels()) {
        const ForcedKernels forced(kernels);
        std::vector<std::byte> chunk(bound(type, count));
        chunk.resize(encode(type, sample.bytes.data(), count, chunk, {mode, true}));
        if (expected.empty()) expected = chunk;
        ASSERT_EQ(chunk, expected) << kernels->name << " codes otherwise than portable";
        std::vector<uint8_t> out(sample.bytes.size());
        ASSERT_TRUE(decode(chunk, type, count, out.data()).ok()) << kernels->name;
        ASSERT_EQ(out, sample.bytes) << kernels->name;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Types, Implementations,
                         testing::Values(DataType::kBfloat16, DataType::kFloat16,
                                         DataType::kFloat32, DataType::kFloat64,
                                         DataType::kFloat8e4m3, DataType::kFloat8e5m2),
                         [](const auto& which) { return std::string(name_of(which.param)); });

std::vector<uint8_t> random_bytes(std::mt19937& random, uint32_t limit) {
  std::vector<uint8_t> bytes(kBlockValues);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random() % limit);
  return bytes;
}

// What one kernel is given, random but for its range.
struct Input {
  std::vector<uint8_t> bytes;
  std::vector<uint8_t> other;  // planes, lists
  size_t width = 1;
  uint8_t top = 0;
  size_t list_bytes = 0;
};

Input random_input(std::mt19937& random, int round) {
  const uint32_t limit = 1 + random() % (round % 2 == 0 ? 256 : 20);
  return {random_bytes(random, limit), random_bytes(random, 256), 1 + random() % 7,
          static_cast<uint8_t>(random()), random() % kBlockValues};
}

// Runs one kernel and returns all that it says, as bytes.
using Probe = std::vector<uint8_t> (*)(const Kernels&, const Input&);

void add(std::vector<uint8_t>& said, uint64_t number) {
  for (int k = 0; k < 8; ++k) said.push_back(static_cast<uint8_t>(number >> (8 * k)));
}

std::vector<uint8_t> probe_counts(const Kernels& k, const Input& in) {
  std::vector<uint8_t> said;
  ExponentBins bins{in.top, {}};
  k.count(in.bytes.data(), kBlockValues, bins);
  for (int exponent_bits : {4, 5, 8}) {
    WindowGuess guess;
    k.guess_window(in.bytes.data(), exponent_bits, guess);
    add(said, guess.width);
    if (guess.width != 0) add(said, guess.top);
  }
  for (int bin = 0; bin < kBins; ++bin) add(said, bins.count[bin]);
  WindowPlaces places;
  k.find_windows(bins, kBlockValues, places);
  add(said, places.counted);
  for (int w = 0; w < kSearchedWidths; ++w) {
    add(said, places.outside[w]);
    add(said, places.first[w]);
  }
  const ExponentRange range = k.range(in.bytes.data(), kBlockValues);
  for (uint32_t number : {range.min, range.max, range.zeros, range.sum}) add(said, number);
  add(said, k.sum(in.bytes.data(), kBlockValues));
  add(said, k.count_zeros(in.bytes.data(), kBlockValues, 0x0F));
  add(said, k.count_zeros(in.bytes.data(), kSampleValues, 0xFF));
  return said;
}

std::vector<uint8_t> probe_packing(const Kernels& k, const Input& in) {
  std::vector<uint8_t> said(kBlockValues + 2 * kBlockValues + kListSlack);
  uint8_t* const list = said.data() + kBlockValues;
  const size_t taken =
      k.pack_window(in.bytes.data(), kBlockValues, in.width, in.top, said.data(), list);
  said.resize(kBlockValues + taken);
  std::vector<uint8_t> bits(kBlockValues), nonzero(kBlockValues + kListSlack);
  nonzero.resize(k.pack_nonzero(in.bytes.data(), kBlockValues, bits.data(), nonzero.data()));
  said.insert(said.end(), bits.begin(), bits.end());
  said.insert(said.end(), nonzero.begin(), nonzero.end());
  k.pack_bits(in.bytes.data(), kBlockValues, in.width, bits.data());
  said.insert(said.end(), bits.begin(), bits.end());
  return said;
}

// Where the list is too short only the count matters.
void add_unpacked(std::vector<uint8_t>& said, size_t taken, const Input& in,
                  const std::vector<uint8_t>& bytes) {
  add(said, taken);
  if (taken <= in.list_bytes) said.insert(said.end(), bytes.begin(), bytes.end());
}

std::vector<uint8_t> probe_unpacking(const Kernels& k, const Input& in) {
  std::vector<uint8_t> said, out(kBlockValues);
  const uint8_t* const list = in.bytes.data();
  size_t taken = k.unpack_window(in.other.data(), kBlockValues, in.width, in.top, 31, list,
                                 in.list_bytes, out.data());
  add_unpacked(said, taken, in, out);
  taken = k.unpack_nonzero(in.other.data(), kBlockValues, list, in.list_bytes, out.data());
  add_unpacked(said, taken, in, out);
  k.unpack_bits(in.other.data(), kBlockValues, in.width, out.data());
  said.insert(said.end(), out.begin(), out.end());
  return said;
}

std::vector<uint8_t> probe_symbols(const Kernels& k, const Input& in) {
  const ExponentTable& table = kTables[in.top % kExponentTables];
  std::vector<uint8_t> said, symbols(kBlockValues), list(kBlockValues + kListSlack);
  const size_t taken = k.to_symbols(table, in.bytes.data(), in.top, symbols.data(), list.data());
  add(said, taken);
  said.insert(said.end(), symbols.begin(), symbols.end());
  said.insert(said.end(), list.begin(), list.begin() + static_cast<ptrdiff_t>(taken));
  std::vector<uint8_t> back(kBlockValues);
  EXPECT_EQ(k.from_symbols(symbols.data(), in.top, 255, list.data(), taken, back.data()), taken);
  EXPECT_EQ(back, in.bytes);
  uint16_t counts[kPriced];
  for (int i = 0; i < kPriced; ++i) counts[i] = in.bytes[static_cast<size_t>(i)] % 30;
  uint32_t bits = 0;
  add(said, k.cheapest_table(counts, bits));
  add(said, bits);
  return said;
}

std::vector<uint8_t> probe_surveys(const Kernels& k, const Input& in) {
  std::vector<uint8_t> said, bytes = in.bytes;
  TileCounts counts = {};
  for (size_t block = 0; block < kTileBlocks; ++block) {
    for (size_t i = block; i < kBlockValues; i += 1 + in.width)
      bytes[i] = static_cast<uint8_t>(in.top - bytes[i] % 16);
    k.survey(bytes.data(), block, counts);
    add(said, static_cast<uint64_t>(counts.top[block]));
    add(said, counts.zeros[block]);
    for (int bin = 0; bin < kBins; ++bin) add(said, counts.bins[block][bin]);
  }
  for (int exponent_bits : {4, 5, 8}) {
    TileChoices choices;
    k.choose_tables(counts, exponent_bits, choices);
    for (size_t block = 0; block < kTileBlocks; ++block)
      for (uint16_t number : {choices.table[block], choices.table_bits[block],
                              choices.window_bytes[block], choices.counted[block]})
        add(said, number);
  }
  return said;
}

std::vector<uint8_t> probe_streams(const Kernels& k, const Input& in) {
  const PrefixCode& code = kTables[in.top % kExponentTables].code;
  std::vector<uint8_t> symbols(kBlockValues);
  for (size_t i = 0; i < kBlockValues; ++i)  // those that have codes
    symbols[i] = static_cast<uint8_t>(code.decoded[in.bytes[i]]);
  LanePieces pieces;
  pieces.used = k.to_pieces(code, symbols.data(), pieces.bits, pieces.count);
  std::vector<uint8_t> said(8000);
  said.resize(write_streams(k.append_lanes, pieces, said.data(), said.size()));
  std::span<const uint8_t> rest(said);
  LanePositions position, end;
  const auto streams = open_streams(rest, position, end);
  EXPECT_TRUE(rest.empty());
  std::vector<uint8_t> slack(streams.begin(), streams.end());
  slack.resize(slack.size() + kStreamSlack);
  std::vector<uint8_t> back(kBlockValues);
  // Beside another tile, and alone.
  LanePositions other = position;
  const SymbolRead reads[] = {{&code, slack.data(), &position, back.data()},
                              {&code, slack.data(), &other, symbols.data()}};
  k.read_symbols(reads, 2);
  EXPECT_EQ(back, symbols);
  EXPECT_TRUE(at_end(other, end));
  other = {};
  open_streams(rest = said, other, end);
  const SymbolRead alone = {&code, slack.data(), &other, back.data()};
  k.read_symbols(&alone, 1);
  EXPECT_EQ(back, symbols);
  EXPECT_TRUE(at_end(position, end));
  return said;
}

// One kernel at a time, also with what the encoder never gives it.
TEST(Kernels, AgreeWithThePortableOnes) {
  constexpr Probe kProbes[] = {probe_counts,  probe_packing, probe_unpacking,
                               probe_symbols, probe_surveys, probe_streams};
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    const Input input = random_input(random, round);
    for (const Kernels* kernels : available_kernels())
      for (Probe probe : kProbes)
        ASSERT_EQ(probe(*kernels, input), probe(portable_kernels(), input)) << kernels->name;
  }
}

TEST(Dispatch, RefusesWhatIsNotThere) {
  EXPECT_FALSE(force_kernels("abacus"));
  EXPECT_EQ(&kernels(), available_kernels().back());
}

}  // namespace
}  // namespace strait::codec
