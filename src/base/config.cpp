#include "base/config.hpp"

#include <strings.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <numeric>
#include <string_view>

#include "base/algorithms.hpp"
#include "base/conf_file.hpp"
#include "base/log.hpp"
#include "base/units.hpp"

namespace strait {
namespace {

constexpr std::string_view kPrefix = "STRAIT_";
constexpr std::string_view kStandinPrefix = "STRAIT_STANDIN_";  // of the tests' stand-in driver
// A slot made from the size of all of them: in the range of SLOT_BYTES, by cache lines.
constexpr int64_t kSlotUnit = 64;
constexpr int64_t kSlotBytesMin = 4 << 10;
constexpr int64_t kSlotBytesMax = 64 << 20;

// A row together with the member that it fills: the one that is not null.
struct Field {
  SettingRow row;
  int64_t Config::*number;
  std::string Config::*text;
};

Field field_of(const SettingRow& row, int64_t Config::*number) {
  return {row, number, nullptr};
}
Field field_of(const SettingRow& row, std::string Config::*text) {
  return {row, nullptr, text};
}

const std::vector<Field>& fields() {
  static const std::vector<Field> all = {
#define STRAIT_SETTING(type, field, name, alias, initial, range, agreed, help) \
  field_of({SettingType::type, name, alias, initial, range, agreed, help}, &Config::field),
#include "base/config.def"
#undef STRAIT_SETTING
  };
  return all;
}

Result<int64_t> parse_integer(std::string_view text) {
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec == std::errc() && parsed.ptr == end) return value;
  return error(Code::kInvalidArgument, "\"{}\" is not a whole number", text);
}

// NCCL's integers: decimal, hexadecimal or octal, and nothing behind them.
Result<int64_t> parse_nccl_integer(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(text.c_str(), &end, 0);
  if (errno == 0 && end != text.c_str() && *end == '\0') return value;
  return error(Code::kInvalidArgument, "\"{}\" is not a whole number", text);
}

Result<int64_t> parse_number(SettingType type, std::string_view text) {
  if (type == SettingType::kSize) return parse_size(text);
  if (type == SettingType::kRate) return parse_rate(text);
  return parse_integer(text);
}

Result<int64_t> number_in_range(const SettingRow& row, std::string_view text) {
  const std::string_view range = row.range;
  const size_t dots = range.find("..");
  STRAIT_CHECK(dots != std::string_view::npos, "a number's range in config.def is low..high");
  const std::string_view low = range.substr(0, dots);
  const std::string_view high = range.substr(dots + 2);
  const Result<int64_t> value = parse_number(row.type, text);
  if (!value.ok())
    return error(Code::kInvalidArgument, "{}, from {} to {}", value.status().message(), low, high);
  if (*value >= *parse_number(row.type, low) && *value <= *parse_number(row.type, high))
    return *value;
  return error(Code::kInvalidArgument, "\"{}\" is out of range; set a value from {} to {}", text,
               low, high);
}

// The value of an NCCL variable as ours would be written.
Result<std::string> translated(const SettingRow& row, const std::string& borrowed) {
  if (row.type != SettingType::kInteger && row.type != SettingType::kSize) return borrowed;
  STRAIT_ASSIGN(const int64_t value, parse_nccl_integer(borrowed));
  return std::to_string(value);
}

// The choice as config.def spells it; upper and lower case are the same.
Result<std::string> choice_of(const SettingRow& row, const std::string& text) {
  std::string listed;
  std::string_view rest = row.range;
  while (!rest.empty()) {
    const std::string choice(rest.substr(0, rest.find('|')));
    if (strcasecmp(choice.c_str(), text.c_str()) == 0) return choice;
    rest.remove_prefix(std::min(rest.size(), choice.size() + 1));
    listed += (listed.empty() ? "" : rest.empty() ? " or " : ", ") + choice;
  }
  return error(Code::kInvalidArgument, "\"{}\" is no choice; set {}", text, listed);
}

Status assign(Config& config, const Field& field, const std::string& value) {
  if (field.number != nullptr) {
    STRAIT_ASSIGN(config.*field.number, number_in_range(field.row, value));
  } else if (field.row.type == SettingType::kChoice) {
    STRAIT_ASSIGN(config.*field.text, choice_of(field.row, value));
  } else if (field.row.type == SettingType::kAlgorithms) {
    STRAIT_TRY(check_algorithms(value));
    config.*field.text = value;
  } else {
    config.*field.text = value;
  }
  return Status();
}

// Takes a name out of a list such as "inproc,shm,tcp".
void drop(std::string& list, std::string_view name) {
  std::string left;
  std::string_view rest = list;
  while (!rest.empty()) {
    const std::string_view each = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), each.size() + 1));
    if (each != name) left += (left.empty() ? "" : ",") + std::string(each);
  }
  list = left;
}

const char* set_value(const Config::Lookup& lookup, const std::string& name) {
  const char* const value = name.empty() ? nullptr : lookup(name.c_str());
  return value != nullptr && *value != '\0' ? value : nullptr;
}

// Letters to insert, remove or change to get from one name to the other.
size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < from.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < to.size(); ++j) {
      const size_t changed = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

Config::Config() {
  for (const Field& field : fields()) {
    // A text's default may be empty; a number's or choice's must be one of its values.
    const Status status = assign(*this, field, field.row.initial);
    STRAIT_CHECK(status.ok(), status.message().c_str());
  }
}

Result<Config> Config::from_environment() {
  const ConfFiles files = ConfFiles::read(std::getenv("NCCL_CONF_FILE"), std::getenv("HOME"));
  return from([&files](const char* name) -> const char* {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : files.find(name);
  });
}

Result<Config> Config::from(const Lookup& lookup) {
  Config config;
  for (const Field& field : fields()) {
    const std::string name = std::string(kPrefix) + field.row.name;
    const std::string alias = field.row.alias;
    if (const char* const value = set_value(lookup, name)) {
      STRAIT_TRY(assign(config, field, value).at(name));
      config.sources_[field.row.name] = name;
    } else if (const char* const borrowed = set_value(lookup, alias)) {
      const auto value_of_ours = translated(field.row, borrowed);
      const Status status =
          (value_of_ours.ok() ? assign(config, field, *value_of_ours) : value_of_ours.status())
              .at(alias);
      if (status.ok())
        config.sources_[field.row.name] = alias;
      else
        log_warn("{}; using {}={}", status.message(), name, field.row.initial);
    }
  }
  config.derive();
  return config;
}

// What follows from settings that NCCL has and this library has not: ours, where they are not set.
void Config::derive() {
  if (buffer_bytes > 0 && !sources_.contains("SLOT_BYTES"))
    slot_bytes =
        std::clamp(buffer_bytes / slots / kSlotUnit * kSlotUnit, kSlotBytesMin, kSlotBytesMax);
  if (check_mode != "DEFAULT") check_pointers = 1;
  if (sources_.contains("TRANSPORTS")) return;
  if (p2p_disable != 0) drop(transports, "inproc");
  if (shm_disable != 0) drop(transports, "shm");
}

Status Config::set(const std::string& name, const std::string& value) {
  for (const Field& field : fields())
    if (field.row.name == name) return assign(*this, field, value).at(std::string(kPrefix) + name);
  return error(Code::kInvalidArgument, "{}{} is not a setting; see strait info --env", kPrefix,
               name);
}

std::map<std::string, std::string> Config::agreed_values() const {
  std::map<std::string, std::string> values;
  for (const Field& field : fields()) {
    if (!field.row.agreed) continue;
    values[field.row.name] =
        field.number != nullptr ? std::to_string(this->*field.number) : this->*field.text;
  }
  return values;
}

Result<std::string> Config::text(const std::string& name) const {
  for (const Field& field : fields())
    if (field.row.name == name)
      return field.number != nullptr ? std::to_string(this->*field.number) : this->*field.text;
  return error(Code::kInvalidArgument, "{}{} is not a setting; see strait info --env", kPrefix,
               name);
}

std::vector<std::string> Config::set_by_environment() const {
  std::vector<std::string> lines;
  for (const Field& field : fields()) {
    const auto source = sources_.find(field.row.name);
    if (source == sources_.end()) continue;
    lines.push_back(fmt::format(
        "{} set by environment to {}", source->second,
        field.number != nullptr ? std::to_string(this->*field.number) : this->*field.text));
  }
  return lines;
}

const std::vector<SettingRow>& setting_rows() {
  static const std::vector<SettingRow> rows = [] {
    std::vector<SettingRow> made;
    for (const Field& field : fields()) made.push_back(field.row);
    return made;
  }();
  return rows;
}

std::vector<std::string> unknown_settings(char** environment) {
  std::vector<std::string> warnings;
  for (char** entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!text.starts_with(kPrefix) || text.starts_with(kStandinPrefix)) continue;
    const std::string_view name = text.substr(0, text.find('=')).substr(kPrefix.size());
    const auto& rows = setting_rows();
    const auto nearest =
        std::min_element(rows.begin(), rows.end(), [&](const auto& a, const auto& b) {
          return edit_distance(name, a.name) < edit_distance(name, b.name);
        });
    if (name == nearest->name) continue;
    warnings.push_back(fmt::format("{0}{1} is not a setting and is ignored; did you mean {0}{2}?",
                                   kPrefix, name, nearest->name));
  }
  return warnings;
}

}  // namespace strait
