// What a rank says of itself when a communicator is made, and the check that all ranks say
// compatible things. Pure values and functions; any thread; no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace strait {

struct Hello {
  std::string version;                          // of the library; must be equal on all ranks
  std::map<std::string, std::string> settings;  // Config::agreed_values()
  std::string host;                             // name, for people
  int64_t pid = 0;
  std::vector<std::byte> payload;  // the communicator's own, passed through untouched

  bool operator==(const Hello&) const = default;
};

// This process's name and number, the library's version and the given settings; no payload.
Hello make_hello(std::string version, std::map<std::string, std::string> settings);

// "rank 3 (host b, process 4711)"
std::string name_rank(int rank, const Hello& hello);

// Ok when the two ranks fit together; else one sentence with both ranks, every differing setting
// and both values.
Status check_agreement(int first_rank, const Hello& first, int second_rank, const Hello& second);

// "rank 3 of 8" / "ranks 3, 5, 7 of 8"; long lists end in "and 90 more".
std::string list_ranks(const std::vector<int>& ranks, int rank_count);

}  // namespace strait
