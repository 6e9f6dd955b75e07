#include "perf/alltoallv/traffic.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

namespace strait::perf {
namespace {

constexpr uint64_t kAlignment = 16;
constexpr double kBytesMax = 0x1p48;  // more than a process can address
constexpr size_t kRanksMax = 1 << 15;

uint64_t aligned(double bytes) {
  const auto whole = static_cast<uint64_t>(bytes);
  return whole - whole % kAlignment;
}

Result<double> number(const std::string& what, const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || !std::isfinite(value))
    return error(Code::kInvalidArgument, "{}: \"{}\" is not a number", what, text);
  return value;
}

Result<double> variable(const Traffic::Lookup& lookup, const char* name, double otherwise) {
  const char* text = lookup(name);
  return text != nullptr ? number(name, text) : otherwise;
}

}  // namespace

Result<Traffic> Traffic::read(const Lookup& lookup) {
  STRAIT_ASSIGN(const double spread, variable(lookup, "NCCL_TESTS_ALLTOALLV_SPREAD", 1));
  STRAIT_ASSIGN(const double scale, variable(lookup, "NCCL_TESTS_ALLTOALLV_MATRIX_SCALE", 1));
  Traffic traffic = spread_out(spread);
  if (const char* path = lookup("NCCL_TESTS_ALLTOALLV_MATRIX_FILE")) {
    std::ifstream file(path);
    if (!file) return system_error(std::string("NCCL_TESTS_ALLTOALLV_MATRIX_FILE: ") + path);
    std::stringstream text;
    text << file.rdbuf();
    STRAIT_ASSIGN(traffic, parse_matrix(text.str(), path, std::max(scale, 0.0)));
  }
  STRAIT_ASSIGN(const double summary, variable(lookup, "NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY", 0));
  traffic.prints_summary_ = summary != 0;
  return traffic;
}

Traffic Traffic::spread_out(double spread) {
  Traffic traffic;
  traffic.spread_ = std::clamp(spread, 0.0, 1.0);
  return traffic;
}

Result<Traffic> Traffic::parse_matrix(const std::string& text, const std::string& name,
                                      double scale) {
  Traffic traffic;
  traffic.name_ = name;
  traffic.scale_ = scale;
  size_t rows = 0, columns = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    const size_t before = traffic.matrix_.size();
    for (std::string word; words >> word;) {
      const std::string place = fmt::format("{}, row {}", name, rows);
      STRAIT_ASSIGN(const double value, number(place, word));
      if (value < 0 || value * scale > kBytesMax)
        return error(Code::kInvalidArgument, "{}: {} is no possible number of bytes", place, word);
      traffic.matrix_.push_back(aligned(value * scale));
    }
    const size_t found = traffic.matrix_.size() - before;
    if (found == 0) continue;
    if (rows++ == 0) columns = found;
    if (found != columns)
      return error(Code::kInvalidArgument, "{}: row {} has {} numbers where the first has {}", name,
                   rows - 1, found, columns);
  }
  if (rows == 0 || rows != columns || rows > kRanksMax)
    return error(Code::kInvalidArgument,
                 "{}: {} rows of {} numbers are no matrix of ranks; write one row and one column "
                 "for each rank",
                 name, rows, columns);
  traffic.dimension_ = static_cast<int>(rows);
  return traffic;
}

uint64_t Traffic::bytes(int from, int to, int rank_count, uint64_t total_bytes) const {
  if (is_matrix())
    return matrix_[static_cast<size_t>(from) * static_cast<size_t>(dimension_) +
                   static_cast<size_t>(to)];
  const auto total = static_cast<double>(total_bytes);
  if (rank_count == 1) return total_bytes - total_bytes % kAlignment;
  const double ranks = rank_count;
  const double distance = (to - from + rank_count) % rank_count;
  const double even = total / ranks;
  const double by_distance = distance * total / (ranks * (ranks - 1) / 2);
  return aligned((1 - spread_) * even + spread_ * by_distance);
}

uint64_t Traffic::sent(int rank, int rank_count, uint64_t total_bytes) const {
  uint64_t sum = 0;
  for (int to = 0; to < rank_count; ++to) sum += bytes(rank, to, rank_count, total_bytes);
  return sum;
}

uint64_t Traffic::received(int rank, int rank_count, uint64_t total_bytes) const {
  uint64_t sum = 0;
  for (int from = 0; from < rank_count; ++from) sum += bytes(from, rank, rank_count, total_bytes);
  return sum;
}

uint64_t Traffic::most(int rank_count, uint64_t total_bytes) const {
  if (!is_matrix()) return sent(0, rank_count, total_bytes);  // the same for every rank
  uint64_t most = 0;
  for (int rank = 0; rank < rank_count; ++rank)
    most = std::max(
        {most, sent(rank, rank_count, total_bytes), received(rank, rank_count, total_bytes)});
  return most;
}

}  // namespace strait::perf
