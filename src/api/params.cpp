// Settings by name: every row of config.def under its own name and under NCCL's, with the value
// that a communicator made now would have. A handle is a row with one of its names.

#include <unistd.h>

#include <charconv>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "api/export.hpp"
#include "api/result.hpp"
#include "base/config.hpp"
#include "base/log.hpp"
#include "nccl.h"

struct ncclParamHandle {
  std::string key;
  strait::SettingRow row;
};

namespace strait::api {
namespace {

const std::vector<ncclParamHandle>& handles() {
  static const std::vector<ncclParamHandle> all = [] {
    std::vector<ncclParamHandle> made;
    for (const SettingRow& row : setting_rows())
      if (*row.alias != '\0') made.push_back({row.alias, row});
    for (const SettingRow& row : setting_rows())
      made.push_back({std::string("STRAIT_") + row.name, row});
    return made;
  }();
  return all;
}

Result<const ncclParamHandle*> find(const char* key) {
  if (key == nullptr)
    return error(Code::kInvalidArgument, "key is NULL: give a name such as NCCL_DEBUG");
  for (const ncclParamHandle& handle : handles())
    if (handle.key == key) return &handle;
  return error(Code::kInvalidArgument,
               "there is no parameter {}: ncclParamGetAllParameterKeys lists those that are", key);
}

Status check(ncclParamHandle_t handle) {
  for (const ncclParamHandle& known : handles())
    if (&known == handle) return Status();
  return error(Code::kInvalidArgument, "{} is no handle of a parameter: get one from ncclParamBind",
               static_cast<const void*>(handle));
}

template <class Pointer>
Status check_out(const Pointer* out) {
  if (out != nullptr) return Status();
  return error(Code::kInvalidArgument, "the result pointer is NULL: give it a place to go");
}

bool is_number(const ncclParamHandle& handle) {
  const SettingType type = handle.row.type;
  return type == SettingType::kInteger || type == SettingType::kSize || type == SettingType::kRate;
}

Result<std::string> value_of(const ncclParamHandle& handle) {
  STRAIT_ASSIGN(const Config config, Config::from_environment());
  return config.text(handle.row.name);
}

Result<int64_t> number_of(const ncclParamHandle& handle) {
  if (!is_number(handle))
    return error(Code::kInvalidArgument, "{} is a text: read it with ncclParamGetStr", handle.key);
  STRAIT_ASSIGN(const std::string text, value_of(handle));
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

template <class Number>
Status get_number(ncclParamHandle_t handle, Number* out) {
  STRAIT_TRY(check(handle));
  STRAIT_TRY(check_out(out));
  STRAIT_ASSIGN(const int64_t value, number_of(*handle));
  const bool fits = std::in_range<Number>(value);
  if (!fits)
    return error(Code::kInvalidArgument, "{} is {}, which does not fit: use ncclParamGetI64",
                 handle->key, value);
  *out = static_cast<Number>(value);
  return Status();
}

Status get_text(ncclParamHandle_t handle, const char** out) {
  thread_local std::string kept;
  STRAIT_TRY(check(handle));
  STRAIT_TRY(check_out(out));
  if (is_number(*handle))
    return error(Code::kInvalidArgument, "{} is a number: read it with ncclParamGetI64",
                 handle->key);
  STRAIT_ASSIGN(kept, value_of(*handle));
  *out = kept.c_str();
  return Status();
}

// A number as eight bytes, a text with its final zero.
Status get_bytes(ncclParamHandle_t handle, void* out, int out_bytes, int* length) {
  STRAIT_TRY(check(handle));
  STRAIT_TRY(check_out(out));
  STRAIT_TRY(check_out(length));
  std::string bytes;
  if (is_number(*handle)) {
    STRAIT_ASSIGN(const int64_t value, number_of(*handle));
    bytes.assign(reinterpret_cast<const char*>(&value), sizeof value);
  } else {
    STRAIT_ASSIGN(bytes, value_of(*handle));
    bytes.push_back('\0');
  }
  if (out_bytes < 0 || static_cast<size_t>(out_bytes) < bytes.size())
    return error(Code::kInvalidArgument, "{} has {} bytes and there is room for {}", handle->key,
                 bytes.size(), out_bytes);
  std::memcpy(out, bytes.data(), bytes.size());
  *length = static_cast<int>(bytes.size());
  return Status();
}

Status get_parameter(const char* key, const char** value, int* length) {
  thread_local std::string kept;
  STRAIT_ASSIGN(const ncclParamHandle* const handle, find(key));
  STRAIT_TRY(check_out(value));
  STRAIT_TRY(check_out(length));
  STRAIT_ASSIGN(kept, value_of(*handle));
  *value = kept.c_str();
  *length = static_cast<int>(kept.size());
  return Status();
}

Status get_keys(const char*** table, int* length) {
  thread_local std::vector<const char*> kept;
  STRAIT_TRY(check_out(table));
  STRAIT_TRY(check_out(length));
  kept.clear();
  for (const ncclParamHandle& handle : handles()) kept.push_back(handle.key.c_str());
  *table = kept.data();
  *length = static_cast<int>(kept.size());
  return Status();
}

Status dump() {
  STRAIT_ASSIGN(const Config config, Config::from_environment());
  std::string text;
  for (const ncclParamHandle& handle : handles()) {
    STRAIT_ASSIGN(const std::string value, config.text(handle.row.name));
    text +=
        fmt::format("{}={}   # default {}: {}\n", handle.key, value,
                    *handle.row.initial != '\0' ? handle.row.initial : "empty", handle.row.help);
  }
  fmt::print(stdout, "{}", text);
  return std::fflush(stdout) == 0 ? Status() : system_error("writing to standard output");
}

Status read_debug_settings() {
  STRAIT_ASSIGN(const Config config, Config::from_environment());
  set_log(config.debug, config.debug_file, config.debug_subsys);
  return Status();
}

}  // namespace
}  // namespace strait::api

using strait::api::guarded;

STRAIT_API(ncclResult_t, ParamBind, (ncclParamHandle_t * out, const char* key)) {
  return guarded("ncclParamBind", [&]() -> strait::Status {
    STRAIT_TRY(strait::api::check_out(out));
    STRAIT_ASSIGN(const ncclParamHandle* const handle, strait::api::find(key));
    *out = const_cast<ncclParamHandle_t>(handle);
    return strait::Status();
  });
}

STRAIT_API(ncclResult_t, ParamGetI8, (ncclParamHandle_t h, int8_t* out)) {
  return guarded("ncclParamGetI8", [&] { return strait::api::get_number(h, out); });
}

STRAIT_API(ncclResult_t, ParamGetI16, (ncclParamHandle_t h, int16_t* out)) {
  return guarded("ncclParamGetI16", [&] { return strait::api::get_number(h, out); });
}

STRAIT_API(ncclResult_t, ParamGetI32, (ncclParamHandle_t h, int32_t* out)) {
  return guarded("ncclParamGetI32", [&] { return strait::api::get_number(h, out); });
}

STRAIT_API(ncclResult_t, ParamGetI64, (ncclParamHandle_t h, int64_t* out)) {
  return guarded("ncclParamGetI64", [&] { return strait::api::get_number(h, out); });
}

STRAIT_API(ncclResult_t, ParamGetU8, (ncclParamHandle_t h, uint8_t* out)) {
  return guarded("ncclParamGetU8", [&] { return strait::api::get_number(h, out); });
}

STRAIT_API(ncclResult_t, ParamGetU16, (ncclParamHandle_t h, uint16_t* out)) {
  return guarded("ncclParamGetU16", [&] { return strait::api::get_number(h, out); });
}

STRAIT_API(ncclResult_t, ParamGetU32, (ncclParamHandle_t h, uint32_t* out)) {
  return guarded("ncclParamGetU32", [&] { return strait::api::get_number(h, out); });
}

STRAIT_API(ncclResult_t, ParamGetU64, (ncclParamHandle_t h, uint64_t* out)) {
  return guarded("ncclParamGetU64", [&] { return strait::api::get_number(h, out); });
}

STRAIT_API(ncclResult_t, ParamGetStr, (ncclParamHandle_t h, const char** out)) {
  return guarded("ncclParamGetStr", [&] { return strait::api::get_text(h, out); });
}

STRAIT_API(ncclResult_t, ParamGet, (ncclParamHandle_t h, void* out, int maxLen, int* len)) {
  return guarded("ncclParamGet", [&] { return strait::api::get_bytes(h, out, maxLen, len); });
}

STRAIT_API(ncclResult_t, ParamGetParameter, (const char* key, const char** value, int* valueLen)) {
  return guarded("ncclParamGetParameter",
                 [&] { return strait::api::get_parameter(key, value, valueLen); });
}

STRAIT_API(ncclResult_t, ParamGetAllParameterKeys, (const char*** table, int* tableLen)) {
  return guarded("ncclParamGetAllParameterKeys",
                 [&] { return strait::api::get_keys(table, tableLen); });
}

STRAIT_API(void, ParamDumpAll, ()) {
  // A void call leaves its failure in ncclGetLastError.
  guarded("ncclParamDumpAll", [] { return strait::api::dump(); });
}

STRAIT_API(void, ResetDebugInit, ()) {
  guarded("ncclResetDebugInit", [] { return strait::api::read_debug_settings(); });
}
