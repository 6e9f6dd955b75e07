#include "codec/tables/build.hpp"

namespace strait::codec {

using namespace tables;

static_assert(sizeof kExponentCodes / sizeof kExponentCodes[0] == kExponentTables);
static_assert(sizeof kLowCodes / sizeof kLowCodes[0] == kLowTables);

constinit const std::array<ExponentTable, kExponentTables> kTables = make_tables();
constinit const std::array<PrefixCode, kLowTables> kLowCodesByTable = make_low_codes();
constinit const Prices kPrices = make_prices();
constinit const LowPrices kLowPrices = make_low_prices();

static_assert([] {
  for (const ExponentTable& table : make_tables())
    if (!is_sound(table.code)) return false;
  for (const PrefixCode& code : make_low_codes())
    for (uint16_t entry : code.decoded)
      if (entry == 0) return false;
  return true;
}());

}  // namespace strait::codec
