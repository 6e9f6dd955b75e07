// The tag that travels with every message: which call it belongs to, so that ranks that make
// different calls find out at once and can say what each of them called. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "plan/request.hpp"

namespace strait {

// Collectives: kind, type, reduction, the call's number on its communicator (10 bits), a hash of
// count, root and limits (11 bits). Send and receive that pair share one tag: they agree on bytes
// only, which it holds (a hash of 128 MiB and more).
uint32_t tag_of(const Request& request, uint64_t call);

// Of the values of a collective; nothing for sends and receives, and for what is no tag.
std::optional<DataType> type_in_tag(uint32_t tag);

// "all_reduce float sum (call 17)"; call numbers are modulo 1024.
std::string describe_tag(uint32_t tag);

// "all_reduce of 1024 float sum (call 17)", for errors and logs.
std::string describe(const Request& request, uint64_t call);

}  // namespace strait
