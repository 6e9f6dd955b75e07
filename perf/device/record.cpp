#include "perf/device/record.hpp"

#include <algorithm>
#include <cstdio>

namespace strait::device_check {

Record& Record::with(const std::string& name, std::string value) {
  std::replace_if(
      value.begin(), value.end(), [](char c) { return c == '\t' || c == '\n'; }, ' ');
  fields_.emplace_back(name, std::move(value));
  return *this;
}

Record& Record::with(const std::string& name, double value) {
  return with(name, fmt::format("{:.4g}", value));
}

void Record::write(Verdict verdict) {
  constexpr const char* kNames[] = {"passed", "FAILED", "measured", "skipped"};
  std::string line = "record";
  for (const auto& [name, value] : fields_) line += fmt::format("\t{}={}", name, value);
  line += fmt::format("\tverdict={}\n", kNames[static_cast<int>(verdict)]);
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

bool write_check(Record record, const Status& status) {
  if (!status.ok()) record.with("why", status.message());
  record.write(status.ok() ? Verdict::kPassed : Verdict::kFailed);
  return status.ok();
}

}  // namespace strait::device_check
