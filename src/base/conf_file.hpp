// The configuration files that NCCL reads: the one that NCCL_CONF_FILE names, else ~/.nccl.conf;
// behind it /etc/nccl.conf. Lines are NAME=VALUE or begin with '#'. What the environment says comes
// first, then the user's file, then the machine's. Nothing is put into the environment: other
// threads may be reading it. A value; any thread; reading costs two system calls where there is no
// file.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace strait {

class ConfFiles {
 public:
  // Reads them now: the file that NCCL_CONF_FILE names, else the one in the home directory (null or
  // empty: none), then the machine's. Files that do not exist are empty; one that is named and
  // cannot be read is a warning.
  static ConfFiles read(const char* named, const char* home,
                        const std::string& machine_path = "/etc/nccl.conf");
  // Of one file's text; what is known already stays. Lines above 4096 bytes, names above 1024, and
  // lines without '=' are skipped.
  void add(std::string_view text);

  // Null: not set in any file.
  const char* find(const std::string& name) const;

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace strait
