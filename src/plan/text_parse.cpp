#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "plan/text.hpp"

namespace strait {
namespace {

constexpr std::array<std::pair<std::string_view, Buffer>, 3> kBuffers = {
    {{"input", Buffer::kInput}, {"output", Buffer::kOutput}, {"scratch", Buffer::kScratch}}};

// One line, read word by word. The first failure sticks, so that a rule reads as one expression.
class LineReader {
 public:
  LineReader(std::string_view line, size_t number) : line_(line.substr(0, line.find('#'))) {
    number_ = number;
  }

  bool ended() {
    skip_blanks();
    return at_ == line_.size();
  }

  // Takes a word or sign if it comes next.
  bool take(std::string_view word) {
    skip_blanks();
    if (!line_.substr(at_).starts_with(word)) return false;
    const size_t end = at_ + word.size();
    if (is_letter(word.back()) && end < line_.size() && is_letter(line_[end])) return false;
    at_ = end;
    return true;
  }

  Status need(std::string_view word) {
    return take(word) ? Status() : expected(fmt::format("'{}'", word));
  }

  template <class Number>
  Status number(Number& value, std::string_view what) {
    skip_blanks();
    const char* begin = line_.data() + at_;
    const char* limit = line_.data() + line_.size();
    Number read{};
    const auto [end, failure] = std::from_chars(begin, limit, read);
    if (failure != std::errc() || *begin == '-') return expected(what);
    value = read;
    at_ += static_cast<size_t>(end - begin);
    return {};
  }

  Status expected(std::string_view what) {
    skip_blanks();
    const std::string_view rest = line_.substr(at_);
    const std::string found =
        rest.empty() ? "the end of the line" : fmt::format("'{}'", rest.substr(0, rest.find(' ')));
    return error(Code::kInvalidArgument, "line {}, column {}: expected {}, found {}", number_,
                 at_ + 1, what, found);
  }

 private:
  static bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
  void skip_blanks() {
    while (at_ < line_.size() && is_blank(line_[at_])) ++at_;
  }

  std::string_view line_;
  size_t number_ = 0;
  size_t at_ = 0;
};

Status parse_place(LineReader& line, std::optional<Place>& place) {
  for (const auto& [name, buffer] : kBuffers) {
    if (!line.take(name)) continue;
    place = Place{buffer, 0};
    STRAIT_TRY(line.need("["));
    STRAIT_TRY(line.number(place->offset, "an offset in elements"));
    return line.need("]");
  }
  return line.expected("input[..], output[..] or scratch[..]");
}

Status parse_edge(LineReader& line, int& peer, Wire& wire) {
  STRAIT_TRY(line.number(peer, "the number of a rank"));
  if (line.take("coded")) wire = Wire::kCoded;
  return {};
}

Status parse_operands(LineReader& line, Step& step) {
  bool more = true;
  if (line.take("recv")) {
    STRAIT_TRY(parse_edge(line, step.recv_from, step.recv_wire));
    more = line.take("+");
  }
  if (!more) return {};
  if (!line.take("nothing")) STRAIT_TRY(parse_place(line, step.source));
  return line.take("+") ? parse_place(line, step.addend) : Status();
}

Result<Step> parse_step(LineReader& line) {
  Step step;
  STRAIT_TRY(parse_operands(line, step));
  if (line.take("->")) STRAIT_TRY(parse_place(line, step.target));
  if (line.take("send")) STRAIT_TRY(parse_edge(line, step.send_to, step.send_wire));
  step.finish = line.take("finish");
  STRAIT_TRY(line.need("x"));
  STRAIT_TRY(line.number(step.count, "a number of elements"));
  if (!line.ended()) return line.expected("the end of the line");
  return step;
}

Result<Plan> parse_header(LineReader& line) {
  Plan plan;
  STRAIT_TRY(line.need("rank"));
  STRAIT_TRY(line.number(plan.rank, "the number of a rank"));
  STRAIT_TRY(line.need("of"));
  STRAIT_TRY(line.number(plan.rank_count, "the number of ranks"));
  if (line.take("scratch")) STRAIT_TRY(line.number(plan.scratch_count, "a number of elements"));
  STRAIT_TRY(line.need("slots"));
  STRAIT_TRY(line.number(plan.slots_min, "the least number of slots"));
  if (!line.ended()) return line.expected("the end of the line");
  return plan;
}

Result<Lane> parse_lane(LineReader& line, size_t index) {
  size_t named = 0;
  LineReader before = line;
  STRAIT_TRY(line.number(named, "the number of a lane"));
  if (named != index) return before.expected(fmt::format("lane {}", index));
  Lane lane;
  STRAIT_TRY(line.need("piece"));
  before = line;
  STRAIT_TRY(line.number(lane.piece, "a number of elements"));
  if (lane.piece == 0) return before.expected("a piece of 1 element or more");
  if (!line.ended()) return line.expected("the end of the line");
  return lane;
}

}  // namespace

Result<std::vector<Plan>> parse_plans(std::string_view text) {
  std::vector<Plan> plans;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t length = std::min(text.find('\n'), text.size());
    LineReader line(text.substr(0, length), number);
    text.remove_prefix(std::min(length + 1, text.size()));
    if (line.ended()) continue;
    if (line.take("plan")) {
      STRAIT_ASSIGN(Plan plan, parse_header(line));
      plans.push_back(std::move(plan));
    } else if (plans.empty()) {
      return line.expected("'plan'");
    } else if (line.take("lane")) {
      std::vector<Lane>& lanes = plans.back().lanes;
      STRAIT_ASSIGN(Lane lane, parse_lane(line, lanes.size()));
      lanes.push_back(std::move(lane));
    } else if (plans.back().lanes.empty()) {
      return line.expected("'lane'");
    } else {
      STRAIT_ASSIGN(const Step step, parse_step(line));
      plans.back().lanes.back().steps.push_back(step);
    }
  }
  return plans;
}

Result<Plan> parse_plan(std::string_view text) {
  STRAIT_ASSIGN(std::vector<Plan> plans, parse_plans(text));
  if (plans.size() != 1)
    return error(Code::kInvalidArgument, "expected one plan, found {}", plans.size());
  return std::move(plans.front());
}

}  // namespace strait
