#include "topology/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>

namespace strait {
namespace {

constexpr int64_t kRanksMax = 1 << 24;

// Reads a text from left to right; blanks separate words.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  void skip_blanks() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }
  bool take(std::string_view word) {
    skip_blanks();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  bool take_number(int64_t& number) {
    skip_blanks();
    const auto [end, failure] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (failure != std::errc() || number < 0) return false;
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return true;
  }
  bool ended() {
    skip_blanks();
    return rest_.empty();
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

Status unreadable(std::string_view text, const Reader& reader, std::string_view expected) {
  const std::string found = reader.rest().empty() ? "its end" : fmt::format("'{}'", reader.rest());
  return error(Code::kInvalidArgument, "topology '{}': expected {} at {}", text, expected, found);
}

// "0-3,7": the ranks of one domain, into domain_of.
Status parse_domain(std::string_view text, Reader& reader, int domain,
                    std::vector<int>& domain_of) {
  do {
    int64_t first = 0;
    if (!reader.take_number(first)) return unreadable(text, reader, "a rank");
    int64_t last = first;
    if (reader.take("-") && !reader.take_number(last)) return unreadable(text, reader, "a rank");
    if (last < first || last >= kRanksMax)
      return error(Code::kInvalidArgument, "topology '{}': {}-{} is no range of ranks", text, first,
                   last);
    if (static_cast<size_t>(last) >= domain_of.size())
      domain_of.resize(static_cast<size_t>(last) + 1, -1);
    for (int64_t rank = first; rank <= last; ++rank) {
      if (domain_of[static_cast<size_t>(rank)] >= 0)
        return error(Code::kInvalidArgument, "topology '{}': rank {} is named twice", text, rank);
      domain_of[static_cast<size_t>(rank)] = domain;
    }
  } while (reader.take(","));
  return {};
}

std::string format_ranks(const std::vector<int>& ranks) {
  std::string text;
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (!text.empty()) text += ',';
    text +=
        end - i == 1 ? fmt::format("{}", ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[end - 1]);
    i = end;
  }
  return text;
}

bool take_rank_word(Reader& reader) {
  for (const char* word : {"ranks", "rank", "gpus", "gpu"})
    if (reader.take(word)) return true;
  return false;
}

bool take_domain_word(Reader& reader) {
  for (const char* word : {"racks", "rack", "domains", "domain", "hosts", "host"})
    if (reader.take(word)) return true;
  return false;
}

Result<Topology> of_checked_sizes(std::string_view text, const std::vector<int64_t>& sizes) {
  int64_t ranks = 0;
  for (const int64_t size : sizes) {
    if (size < 1 || size > kRanksMax || (ranks += size) > kRanksMax)
      return error(Code::kInvalidArgument,
                   "topology '{}': a domain has 1 rank or more, all of them {}", text, kRanksMax);
  }
  return Topology::of_sizes(std::vector<int>(sizes.begin(), sizes.end()));
}

}  // namespace

int Topology::domain_count() const {
  return domain_of.empty() ? 0 : *std::max_element(domain_of.begin(), domain_of.end()) + 1;
}

std::vector<int> Topology::ranks_of(int domain) const {
  std::vector<int> ranks;
  for (int rank = 0; rank < rank_count(); ++rank)
    if (domain_of[static_cast<size_t>(rank)] == domain) ranks.push_back(rank);
  return ranks;
}

Topology Topology::flat(int rank_count) {
  return Topology{std::vector<int>(static_cast<size_t>(rank_count), 0)};
}

Topology Topology::of_sizes(const std::vector<int>& domain_sizes) {
  Topology topology;
  for (size_t domain = 0; domain < domain_sizes.size(); ++domain)
    topology.domain_of.insert(topology.domain_of.end(), static_cast<size_t>(domain_sizes[domain]),
                              static_cast<int>(domain));
  return topology;
}

Topology Topology::from_names(const std::vector<std::string>& domain_names) {
  Topology topology;
  std::map<std::string_view, int> domains;
  for (const std::string& name : domain_names)
    topology.domain_of.push_back(
        domains.try_emplace(name, static_cast<int>(domains.size())).first->second);
  return topology;
}

std::string format(const Topology& topology) {
  std::vector<std::vector<int>> domains(static_cast<size_t>(topology.domain_count()));
  for (int rank = 0; rank < topology.rank_count(); ++rank)
    domains[static_cast<size_t>(topology.domain_of[static_cast<size_t>(rank)])].push_back(rank);
  std::string text = fmt::format("{} domain{}:", domains.size(), domains.size() == 1 ? "" : "s");
  for (size_t domain = 0; domain < domains.size(); ++domain)
    text += (domain == 0 ? " " : " | ") + format_ranks(domains[domain]);
  return text;
}

Result<Topology> parse_topology(std::string_view text) {
  Reader reader(text);
  int64_t count = 0;
  if (!reader.take_number(count)) return unreadable(text, reader, "the number of domains");
  if (!reader.take("domains:") && !reader.take("domain:"))
    return unreadable(text, reader, "'domains:'");
  std::vector<int> domain_of;
  for (int64_t domain = 0; domain < count; ++domain) {
    if (domain > 0 && !reader.take("|")) return unreadable(text, reader, "'|'");
    STRAIT_TRY(parse_domain(text, reader, static_cast<int>(domain), domain_of));
  }
  if (!reader.ended()) return unreadable(text, reader, "the end");
  int known = 0;
  for (size_t rank = 0; rank < domain_of.size(); ++rank) {
    if (domain_of[rank] < 0)
      return error(Code::kInvalidArgument, "topology '{}': rank {} is in no domain", text, rank);
    if (domain_of[rank] > known)
      return error(
          Code::kInvalidArgument,
          "topology '{}': domains go in order of their first rank, rank {} comes too early", text,
          rank);
    known = std::max(known, domain_of[rank] + 1);
  }
  return Topology{std::move(domain_of)};
}

Result<Topology> synthetic(std::string_view description) {
  Reader reader(description);
  std::vector<int64_t> sizes(1);
  if (!reader.take_number(sizes[0])) return unreadable(description, reader, "a number");
  if (take_domain_word(reader)) {
    int64_t each = 0;
    if (!reader.take("x") || !reader.take_number(each) || !take_rank_word(reader))
      return unreadable(description, reader, "'x', a number and 'ranks'");
    if (sizes[0] < 1 || sizes[0] > kRanksMax)
      return error(Code::kInvalidArgument, "topology '{}': there are 1 to {} domains", description,
                   kRanksMax);
    sizes.assign(static_cast<size_t>(sizes[0]), each);
  } else if (!take_rank_word(reader)) {
    while (reader.take("+")) {
      sizes.push_back(0);
      if (!reader.take_number(sizes.back())) return unreadable(description, reader, "a number");
    }
  }
  if (!reader.ended()) return unreadable(description, reader, "the end");
  return of_checked_sizes(description, sizes);
}

}  // namespace strait
