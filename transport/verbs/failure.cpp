#include "transport/verbs/failure.hpp"

#include <infiniband/verbs.h>

namespace strait::verbs {
namespace {

// What most likely is the matter, and what to do.
std::string advice_of(const Path& path, int status) {
  switch (status) {
    case IBV_WC_RETRY_EXC_ERR:
      return fmt::format(
          "rank {} does not acknowledge: it has died, a cable or a switch port is down, or packets "
          "of {} bytes from {} to {} ({}) find no way; look at both ports, choose another GID with "
          "STRAIT_IB_GID_INDEX, or wait longer with STRAIT_IB_TIMEOUT",
          path.peer, path.mtu_bytes, path.local, path.remote, path.kind);
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return fmt::format(
          "rank {} takes no messages although it promised to: its process is stopped, or its NIC "
          "is overloaded",
          path.peer);
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_OP_ERR:
      return fmt::format(
          "the NIC of rank {} refused a write into its slots: run one version of the library on "
          "all ranks, and look at the log of that NIC's host",
          path.peer);
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_LOC_LEN_ERR:
    case IBV_WC_LOC_ACCESS_ERR:
    case IBV_WC_LOC_QP_OP_ERR:
      return "this NIC may not read or write the link's slots, or not so many bytes; run one "
             "version of the library on all ranks, and look at the log of this host (dmesg)";
    case IBV_WC_WR_FLUSH_ERR:
      return fmt::format(
          "the connection was stopped by the device, because its port or rank {} went away; look "
          "at "
          "the log of both hosts (dmesg)",
          path.peer);
    default:
      return "look at the log of this host (dmesg) and at the state of the port";
  }
}

}  // namespace

Status transfer_failed(const Path& path, int status, const std::string& name, uint32_t vendor_code,
                       const std::string& complaint) {
  const std::string advice =
      complaint.empty() ? advice_of(path, status)
                        : complaint + ": look at its cable and at the log of this host (dmesg)";
  return error(Code::kRemoteError, "{} over {}: {} (error {}.{:#x}): {}", path.link, path.port,
               name, status, vendor_code, advice);
}

}  // namespace strait::verbs
