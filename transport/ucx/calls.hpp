// UCX as entry points of a file that is opened when it is first asked for, so that the library
// loads and runs where there is none. Opening it leaves the program as it was: UCX would handle the
// program's faults and hang-ups and patch its memory calls (munmap and the like). Any thread; a
// library is opened once and kept.
#pragma once

#include <ucp/api/ucp.h>

#include <string>

#include "base/status.hpp"

namespace strait::ucx {

// Without their ucp_.
#define STRAIT_UCX_CALLS(call)                                                                   \
  call(cleanup) call(ep_close_nbx) call(ep_create) call(get_version_string) call(init_version)   \
      call(request_cancel) call(request_check_status) call(request_free) call(tag_msg_recv_nbx)  \
          call(tag_probe_nb) call(tag_recv_nbx) call(tag_send_nbx) call(tag_send_sync_nbx)       \
              call(worker_arm) call(worker_create) call(worker_destroy) call(worker_get_address) \
                  call(worker_get_efd) call(worker_progress) call(worker_release_address)

struct Calls {
#define STRAIT_CALL(name) decltype(&::ucp_##name) name = nullptr;
  STRAIT_UCX_CALLS(STRAIT_CALL)
#undef STRAIT_CALL
  decltype(&::ucs_status_string) status_string = nullptr;
};

// Opens a file of that name; or says in one sentence why there is none.
Result<Calls> load_calls(const std::string& library);

// UCX's word for it.
Status ucx_error(const Calls& calls, const std::string& what, ucs_status_t status);

}  // namespace strait::ucx
