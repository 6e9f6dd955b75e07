// libibverbs as entry points of a file that is opened when RDMA is first asked for, so that the
// library loads and runs where there is none. What is posted and polled goes past it, straight into
// the device's driver (inline functions of its header). Any thread; opened once and kept.
#pragma once

#include <infiniband/verbs.h>
#include <unistd.h>

#include <memory>

#include "base/status.hpp"

namespace strait::verbs {

// Without their ibv_, which the header makes macros of.
#define STRAIT_VERBS_CALLS(call)                                                                \
  call(ack_async_event) call(ack_cq_events) call(alloc_pd) call(close_device)                   \
      call(create_comp_channel) call(create_cq) call(create_qp) call(dealloc_pd) call(dereg_mr) \
          call(destroy_comp_channel) call(destroy_cq) call(destroy_qp) call(fork_init)          \
              call(free_device_list) call(get_async_event) call(get_cq_event)                   \
                  call(get_device_list) call(get_device_name) call(modify_qp) call(open_device) \
                      call(query_port) call(reg_mr) call(wc_status_str)

struct Calls {
#define STRAIT_CALL(name) decltype(&::ibv_##name) name = nullptr;
  STRAIT_VERBS_CALLS(STRAIT_CALL)
#undef STRAIT_CALL
  // Null in versions before 2021.
  ibv_mr* (*reg_dmabuf_mr)(ibv_pd* pd, uint64_t offset, size_t length, uint64_t iova, int fd,
                           int access) = nullptr;
};

// Says in one sentence why there is none.
Result<const Calls*> calls();

// Gives an object of libibverbs back, unless this process only inherited it by a fork: it is the
// parent's then.
template <class T>
struct Release {
  int (*release)(T* object) = nullptr;
  pid_t process = 0;

  void operator()(T* object) const {
    if (getpid() == process) release(object);
  }
};
template <class T>
using Owned = std::unique_ptr<T, Release<T>>;

template <class T>
Owned<T> own(T* object, int (*release)(T* object)) {
  return Owned<T>(object, Release<T>{release, getpid()});
}

}  // namespace strait::verbs
