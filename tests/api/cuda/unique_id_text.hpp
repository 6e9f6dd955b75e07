// A unique id as text: the ranks of a test that are processes get it on their command lines. Pure
// functions.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <string>

#include "nccl.h"

namespace strait::test {

inline std::string text_of(const ncclUniqueId& id) {
  std::string text;
  for (const char byte : id.internal)
    text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

inline ncclUniqueId id_from_text(const std::string& text) {
  ncclUniqueId id{};
  for (size_t i = 0; i < sizeof id.internal && 2 * i + 1 < text.size(); ++i) {
    unsigned char byte = 0;
    std::from_chars(text.data() + 2 * i, text.data() + 2 * i + 2, byte, 16);
    id.internal[i] = static_cast<char>(byte);
  }
  return id;
}

}  // namespace strait::test
