// Tables of the user for the dense mode: code lengths fitted to data of one's own
// (tables/fit.py --fit), installed under one of sixteen numbers. The encoder takes one for a block
// where it is cheaper than what is built in; a chunk names the table, so every rank must have
// installed the same one under that number before the first chunk arrives. On the host alone: GPUs
// take such a chunk for damaged. Any thread; installing costs microseconds, looking up an atomic
// load.
#pragma once

#include "base/status.hpp"
#include "codec/tables/tables.hpp"

namespace strait::codec {

inline constexpr uint32_t kFirstUserTable = 48;  // as a block's record has it
inline constexpr uint32_t kUserTables = 16;

// Installs a table for good; doing it again with the same lengths is no error. The code must be
// complete, of at most eight bits, with an escape; and those longer than five bits must all start
// with three ones, which is so when they take at most an eighth of the code space.
Status install_table(uint32_t number, const ExponentCode& lengths);

// By number less kMethodTable: a table built in or installed; null where there is none.
const ExponentTable* exponent_table(uint32_t index);

// A full block's counts (kPriced) under the installed tables: changes table and bits where one is
// cheaper.
void try_user_tables(const uint16_t counts[kPriced], uint32_t& table, uint32_t& bits);
// Whether any is installed.
bool has_user_tables();

}  // namespace strait::codec
