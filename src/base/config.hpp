// Config: every setting of a communicator as one value, read from the environment when the
// communicator is made (never at load time). The table is config.def; this struct, the parser, the
// agreement between ranks and the README table are made from it. A plain value; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace strait {

enum class SettingType { kInteger, kSize, kRate, kText, kChoice, kAlgorithms };

template <SettingType type>
struct SettingValue {
  using Type = int64_t;  // kInteger; kSize in bytes; kRate in bytes per second
};
template <>
struct SettingValue<SettingType::kText> {
  using Type = std::string;
};
template <>
struct SettingValue<SettingType::kChoice> {
  using Type = std::string;
};

template <>
struct SettingValue<SettingType::kAlgorithms> {
  using Type = std::string;
};

struct Config {
#define STRAIT_SETTING(type, field, name, alias, initial, range, agreed, help) \
  SettingValue<SettingType::type>::Type field;
#include "base/config.def"
#undef STRAIT_SETTING
  // No setting, but found when ranks meet, and equal on all: blocks of a kernel that surely run
  // beside each other, and beside those of the other ranks on its GPU. 0: no bound.
  int gpu_blocks = 0;

  Config();  // the defaults

  using Lookup = std::function<const char*(const char* name)>;  // getenv, or a test's stand-in
  // Reads STRAIT_* and, where ours is unset, the NCCL alias, from the environment and then from the
  // configuration files (conf_file.hpp); an empty value is as good as unset. A bad STRAIT_ value is
  // an error that names variable, value and range; a bad NCCL_ value is logged as a warning and the
  // default used, so that whatever ran with NCCL runs here.
  static Result<Config> from_environment();
  static Result<Config> from(const Lookup& lookup);

  // Sets one setting by its name without prefix ("SLOTS"), as from the environment.
  Status set(const std::string& name, const std::string& value);

  // The value of one setting, as it would be set.
  Result<std::string> text(const std::string& name) const;
  // "NAME" -> value of every setting that all ranks must share.
  std::map<std::string, std::string> agreed_values() const;
  // "NCCL_ALGO set by environment to ring", for the log.
  std::vector<std::string> set_by_environment() const;

 private:
  void derive();

  std::map<std::string, std::string> sources_;  // of what is set: NAME -> variable
};

struct SettingRow {
  SettingType type;
  const char* name;
  const char* alias;
  const char* initial;
  const char* range;
  bool agreed;
  const char* help;
};
const std::vector<SettingRow>& setting_rows();

// One warning per STRAIT_ name in the environment that is no setting, with the nearest name that
// is.
std::vector<std::string> unknown_settings(char** environment);

}  // namespace strait
