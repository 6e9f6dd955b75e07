// The part of {fmt} that the library and its device checks use, for builds on machines that have no
// {fmt} (STRAIT_DEVICE_BUILD): {} with an index, fill, alignment, sign, #, 0, width, precision and
// type; join(). Formats are not checked when they are compiled: the usual build does that. Values,
// any thread; every call builds a string.
#pragma once

// {fmt}'s header brings these, too, and so has never let anybody notice that one was missing.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace fmt {
namespace detail {

struct Spec {
  char fill = ' ';
  char align = 0;  // '<', '>', '^'; 0: by the kind of value
  char sign = '-';
  bool prefix = false;
  bool zeros = false;
  int width = 0;
  int precision = -1;
  char type = 0;

  static Spec parse(std::string_view text);
};

inline Spec Spec::parse(std::string_view text) {
  Spec spec;
  const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^'; };
  const auto number = [&] {
    int value = 0;
    for (; !text.empty() && text[0] >= '0' && text[0] <= '9'; text.remove_prefix(1))
      value = 10 * value + (text[0] - '0');
    return value;
  };
  if (text.size() > 1 && is_align(text[1])) {
    spec.fill = text[0];
    text.remove_prefix(1);
  }
  const auto next = [&](auto accepts) {
    if (text.empty() || !accepts(text[0])) return '\0';
    const char taken = text[0];
    text.remove_prefix(1);
    return taken;
  };
  spec.align = next(is_align);
  if (const char sign = next([](char c) { return c == '+' || c == '-' || c == ' '; }); sign != 0)
    spec.sign = sign;
  spec.prefix = next([](char c) { return c == '#'; }) != 0;
  spec.zeros = next([](char c) { return c == '0'; }) != 0;
  spec.width = number();
  if (next([](char c) { return c == '.'; }) != 0) spec.precision = number();
  spec.type = next([](char) { return true; });
  return spec;
}

// `usual` is how the value lies in its width where the format does not say; zeros go behind the
// `head` (sign, 0x).
inline void pad(std::string& out, std::string_view head, std::string_view body, const Spec& spec,
                char usual) {
  const size_t size = head.size() + body.size();
  const size_t room = std::max<size_t>(size, static_cast<size_t>(spec.width)) - size;
  const bool zeros = spec.zeros && spec.align == 0 && usual == '>';
  const char align = spec.align != 0 ? spec.align : usual;
  const size_t before = zeros || align == '<' ? 0 : align == '>' ? room : room / 2;
  out.append(before, spec.fill).append(head).append(zeros ? room : 0, '0').append(body);
  out.append(zeros ? 0 : room - before, spec.fill);
}

inline std::string head_of(bool negative, const Spec& spec) {
  return negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
}

inline void write_integer(std::string& out, bool negative, uint64_t size, const Spec& spec) {
  const bool hex = spec.type == 'x' || spec.type == 'X' || spec.type == 'p';
  const int base = hex ? 16 : spec.type == 'b' ? 2 : spec.type == 'o' ? 8 : 10;
  char digits[64];
  const auto end = std::to_chars(digits, digits + sizeof digits, size, base).ptr;
  if (spec.type == 'X')
    std::transform(digits, end, digits,
                   [](char c) { return c >= 'a' ? static_cast<char>(c - 32) : c; });
  std::string head = head_of(negative, spec);
  if (spec.prefix && base != 10) head += base == 16 ? "0x" : base == 2 ? "0b" : "0";
  pad(out, head, {digits, end}, spec, '>');
}

inline void write_double(std::string& out, double value, const Spec& spec) {
  const auto form = spec.type == 'f' || spec.type == 'F' ? std::chars_format::fixed
                    : spec.type == 'e'                   ? std::chars_format::scientific
                                                         : std::chars_format::general;
  char digits[512];  // the longest double with all its digits before the point, and 200 behind it
  char* const limit = digits + sizeof digits;
  const double size = value < 0 ? -value : value;
  const int precision = spec.precision >= 0 ? std::min(spec.precision, 200)
                        : spec.type != 0    ? 6
                                            : -1;
  const auto end = precision < 0 ? std::to_chars(digits, limit, size).ptr
                                 : std::to_chars(digits, limit, size, form, precision).ptr;
  pad(out, head_of(value < 0, spec), {digits, end}, spec, '>');
}

template <class Range>
struct Joined {
  const Range* range;
  std::string_view separator;
};

template <class T>
void write_value(std::string& out, const T& value, const Spec& spec);

template <class Range>
void write_joined(std::string& out, const Joined<Range>& all, const Spec& spec) {
  bool first = true;
  for (const auto& value : *all.range) {
    if (!std::exchange(first, false)) out += all.separator;
    write_value(out, value, spec);
  }
}

template <class T>
void write_value(std::string& out, const T& value, const Spec& spec) {
  if constexpr (requires { value.separator; })
    write_joined(out, value, spec);
  else if constexpr (std::same_as<T, bool>)
    pad(out, {}, value ? "true" : "false", spec, '<');
  else if constexpr (std::same_as<T, char>)
    pad(out, {}, std::string_view(&value, 1), spec, '<');
  else if constexpr (std::is_convertible_v<const T&, std::string_view>)
    pad(out, {}, std::string_view(value), spec, '<');
  else if constexpr (std::is_floating_point_v<T>)
    write_double(out, static_cast<double>(value), spec);
  else if constexpr (std::is_signed_v<T>)
    write_integer(out, value < 0, value < 0 ? 0 - static_cast<uint64_t>(value) : value, spec);
  else if constexpr (std::is_unsigned_v<T>)
    write_integer(out, false, value, spec);
  else
    write_integer(out, false, reinterpret_cast<uintptr_t>(static_cast<const void*>(value)),
                  Spec{.prefix = true, .width = spec.width, .type = 'x'});
}

struct Argument {
  const void* value;
  void (*write)(std::string& out, const void* value, const Spec& spec);
};

template <class T>
Argument argument(const T& value) {
  if constexpr (std::is_array_v<T>)  // a literal
    return {value, [](std::string& out, const void* text, const Spec& spec) {
              pad(out, {}, static_cast<const char*>(text), spec, '<');
            }};
  else
    return {&value, [](std::string& out, const void* at, const Spec& spec) {
              write_value(out, *static_cast<const T*>(at), spec);
            }};
}

inline void write_all(std::string& out, std::string_view format,
                      std::span<const Argument> arguments) {
  size_t next = 0;
  while (!format.empty()) {
    const size_t brace = std::min(format.find_first_of("{}"), format.size());
    out += format.substr(0, brace);
    format.remove_prefix(brace);
    if (format.empty()) break;
    if (format.size() > 1 && format[1] == format[0]) {  // {{ or }}
      out += format[0];
      format.remove_prefix(2);
      continue;
    }
    const size_t end = std::min(format.find('}'), format.size());
    const std::string_view field = format.substr(1, end - 1);
    const size_t colon = std::min(field.find(':'), field.size());
    size_t index = next;
    if (colon == 0) ++next;
    std::from_chars(field.data(), field.data() + colon, index);
    if (index < arguments.size())
      arguments[index].write(out, arguments[index].value,
                             Spec::parse(field.substr(std::min(colon + 1, field.size()))));
    format.remove_prefix(std::min(end + 1, format.size()));
  }
}

template <class... Arguments>
struct Format {
  template <std::convertible_to<std::string_view> Text>
  Format(const Text& written) : text(written) {}  // NOLINT: implicit, as in {fmt}
  std::string_view text;
};

}  // namespace detail

template <class... Arguments>
using format_string = detail::Format<std::type_identity_t<Arguments>...>;

template <class... Arguments>
std::string format(format_string<Arguments...> text, Arguments&&... arguments) {
  const detail::Argument all[] = {detail::argument(arguments)..., {nullptr, nullptr}};
  std::string out;
  detail::write_all(out, text.text, std::span(all, sizeof...(Arguments)));
  return out;
}

template <class Output, class... Arguments>
Output format_to(Output output, format_string<Arguments...> text, Arguments&&... arguments) {
  const std::string made = format(text, std::forward<Arguments>(arguments)...);
  return std::copy(made.begin(), made.end(), output);
}

template <class... Arguments>
void print(std::FILE* file, format_string<Arguments...> text, Arguments&&... arguments) {
  const std::string made = format(text, std::forward<Arguments>(arguments)...);
  std::fwrite(made.data(), 1, made.size(), file);
}

template <class... Arguments>
void print(format_string<Arguments...> text, Arguments&&... arguments) {
  print(stdout, text, std::forward<Arguments>(arguments)...);
}

// The range outlives the call that formats it.
template <class Range>
detail::Joined<Range> join(const Range& range, std::string_view separator) {
  return {&range, separator};
}

}  // namespace fmt
