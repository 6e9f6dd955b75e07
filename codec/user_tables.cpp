#include "codec/user_tables.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>

#include "codec/format.hpp"
#include "codec/tables/build.hpp"

namespace strait::codec {
namespace {

static_assert(kFirstUserTable == kMethodTable + kExponentTables);

struct Installed {
  ExponentCode lengths;
  ExponentTable table;
  uint16_t prices[kPriced];
  // Set once, when all of the above is; partners: encoders and decoders in any thread.
  std::atomic<bool> ready{false};
};

std::mutex installing;
std::array<Installed, kUserTables> slots;
// Partners: encoders in any thread.
std::atomic<bool> any_ready{false};

// What is wrong, or null.
const char* check_lengths(const ExponentCode& row) {
  if (row.escape == 0) return "it has no code for the escape";
  uint32_t space = 0, long_space = 0;  // in parts of 256
  const auto count = [&](uint8_t length) {
    if (length == 0) return true;
    if (length > kMostCodeBits) return false;
    space += 256u >> length;
    if (length > 5) long_space += 256u >> length;
    return true;
  };
  bool fits = count(row.zero) && count(row.escape);
  for (uint8_t length : row.near) fits = count(length) && fits;
  if (!fits) return "it has a code of more than eight bits";
  if (space != 256) return "its code is not complete, or not a prefix code";
  if (long_space > 32) return "its codes of more than five bits take more than an eighth";
  if (row.above > 2 * kNearSymbols) return "it starts too far above the mean";
  return nullptr;
}

}  // namespace

Status install_table(uint32_t number, const ExponentCode& lengths) {
  if (number < kFirstUserTable || number >= kFirstUserTable + kUserTables)
    return error(Code::kInvalidArgument,
                 "code table {}: numbers for tables of the user are {} to {}", number,
                 kFirstUserTable, kFirstUserTable + kUserTables - 1);
  if (const char* wrong = check_lengths(lengths))
    return error(Code::kInvalidArgument, "code table {}: {}; fit one with codec/tables/fit.py",
                 number, wrong);
  const std::lock_guard lock(installing);
  Installed& slot = slots[number - kFirstUserTable];
  if (slot.ready.load(std::memory_order_relaxed)) {
    if (std::memcmp(&slot.lengths, &lengths, sizeof lengths) == 0) return {};
    return error(Code::kInvalidUsage,
                 "code table {}: another one is installed under that number; take a free number",
                 number);
  }
  slot.lengths = lengths;
  slot.table = tables::make_table(lengths);
  for (int k = 0; k < kPriced; ++k) slot.prices[k] = tables::price_of(lengths, k);
  slot.ready.store(true, std::memory_order_release);
  any_ready.store(true, std::memory_order_release);
  return {};
}

const ExponentTable* exponent_table(uint32_t index) {
  if (index < kExponentTables) return &kTables[index];
  index -= kExponentTables;
  if (index >= kUserTables || !slots[index].ready.load(std::memory_order_acquire)) return nullptr;
  return &slots[index].table;
}

bool has_user_tables() {
  return any_ready.load(std::memory_order_acquire);
}

void try_user_tables(const uint16_t counts[kPriced], uint32_t& table, uint32_t& bits) {
  for (uint32_t index = 0; index < kUserTables; ++index) {
    if (!slots[index].ready.load(std::memory_order_acquire)) continue;
    uint32_t cost = 0;
    for (int k = 0; k < kPriced; ++k) cost += counts[k] * slots[index].prices[k];
    if (cost >= bits) continue;
    bits = cost;
    table = kExponentTables + index;
  }
}

}  // namespace strait::codec
