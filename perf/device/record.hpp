// What a device check found, one line a finding: "record", then name=value fields, with tabs
// between. tools/device_check makes its table and its JSON of them. Any thread may write; a line is
// written at once.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/status.hpp"

namespace strait::device_check {

enum class Verdict { kPassed, kFailed, kMeasured, kSkipped };

class Record {
 public:
  // `part` is the table that it belongs to.
  explicit Record(std::string part) { with("part", std::move(part)); }
  Record& with(const std::string& name, std::string value);
  Record& with(const std::string& name, double value);  // four digits
  Record& with(const std::string& name, int value) { return with(name, std::to_string(value)); }
  // Writes it to standard output.
  void write(Verdict verdict);

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

// A record of the check: passed, or failed with the sentence. Returns whether it passed.
bool write_check(Record record, const Status& status);

}  // namespace strait::device_check
