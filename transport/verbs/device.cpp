#include "transport/verbs/device.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>

#include "base/log.hpp"

namespace strait::verbs {
namespace {

struct Opened {
  std::mutex mutex;
  std::map<std::pair<pid_t, std::string>, std::weak_ptr<Device>> devices;
};

Opened& opened() {
  static auto* const only = new Opened;  // never destroyed: links may end at exit
  return *only;
}

bool set_non_blocking(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

Result<Owned<ibv_context>> open_context(const Calls& calls, const std::string& name) {
  int count = 0;
  ibv_device** const list = (calls.get_device_list)(&count);
  if (list == nullptr) return verbs_error("listing the RDMA devices", errno);
  ibv_context* context = nullptr;
  int number = ENODEV;
  for (int i = 0; i < count; ++i) {
    if (name != calls.get_device_name(list[i])) continue;
    context = calls.open_device(list[i]);
    number = errno;
  }
  calls.free_device_list(list);
  if (context == nullptr)
    return verbs_error(fmt::format("RDMA device {} cannot be opened", name), number);
  return own(context, calls.close_device);
}

std::string hint_of(int number) {
  if (number == EACCES || number == EPERM)
    return "; this user may not use /dev/infiniband/uverbs*: give it to the container "
           "(--device /dev/infiniband) or to the user's group";
  if (number == ENODEV || number == ENOSYS)
    return "; no driver of libibverbs speaks to it: install ibverbs-providers";
  rlimit limit{};
  if ((number == ENOMEM || number == EAGAIN) && getrlimit(RLIMIT_MEMLOCK, &limit) == 0 &&
      limit.rlim_cur != RLIM_INFINITY)
    return fmt::format(
        "; locked memory is limited to {} KiB (ulimit -l): raise it to unlimited "
        "(--ulimit memlock=-1 for containers, limits.conf for users)",
        limit.rlim_cur / 1024);
  return "";
}

}  // namespace

Status verbs_error(const std::string& what, int number) {
  return error(Code::kSystemError, "{}: {}{}", what, std::strerror(number), hint_of(number));
}

Result<std::shared_ptr<Device>> Device::open(const std::string& name) {
  STRAIT_ASSIGN(const Calls* const entry, verbs::calls());
  std::lock_guard lock(opened().mutex);
  auto& known = opened().devices[{getpid(), name}];
  if (auto device = known.lock()) return device;
  std::shared_ptr<Device> device(new Device(*entry, name));
  STRAIT_TRY(device->start());
  known = device;
  return device;
}

Status Device::start() {
  STRAIT_ASSIGN(reactor_, Reactor::get());
  STRAIT_ASSIGN(context_, open_context(calls_, name_));
  domain_ = own(calls_.alloc_pd(context_.get()), calls_.dealloc_pd);
  if (!domain_) return verbs_error(name_ + " gives no protection domain", errno);
  channel_ = own(calls_.create_comp_channel(context_.get()), calls_.destroy_comp_channel);
  if (!channel_) return verbs_error(name_ + " gives no completion channel", errno);
  if (!set_non_blocking(channel_->fd) || !set_non_blocking(context_->async_fd))
    return system_error("the channels of " + name_ + " cannot be watched");
  STRAIT_TRY(reactor_->add(channel_->fd, EPOLLIN, [this](uint32_t) { on_channel(); }));
  return reactor_->add(context_->async_fd, EPOLLIN, [this](uint32_t) { on_event(); });
}

Device::~Device() {
  if (channel_) reactor_->remove(channel_->fd);
  if (context_) reactor_->remove(context_->async_fd);
}

void Device::on_channel() {
  ibv_cq* queue = nullptr;
  void* listener = nullptr;
  while (calls_.get_cq_event(channel_.get(), &queue, &listener) == 0) {
    static_cast<CompletionListener*>(listener)->on_completions();
    calls_.ack_cq_events(queue, 1);
  }
}

void Device::on_event() {
  ibv_async_event event{};
  while (calls_.get_async_event(context_.get(), &event) == 0) {
    const ibv_event_type type = event.event_type;
    const int port = event.element.port_num;
    calls_.ack_async_event(&event);
    if (type == IBV_EVENT_DEVICE_FATAL) dead_.store(true, std::memory_order_relaxed);
    if (type == IBV_EVENT_PORT_ERR || type == IBV_EVENT_DEVICE_FATAL)
      log_info(LogPart::kInit | LogPart::kNet, "RDMA device {}: {}", name_,
               type == IBV_EVENT_PORT_ERR ? fmt::format("port {} went down", port) : "it failed");
  }
}

std::string Device::complaint(int port) const {
  if (dead_.load(std::memory_order_relaxed)) return "the device failed";
  const auto now = ask(port);
  if (!now.ok()) return now.status().message();
  return now->state == IBV_PORT_ACTIVE ? "" : fmt::format("port {} is down", port);
}

Result<ibv_port_attr> Device::ask(int port) const {
  ibv_port_attr attributes{};
  const int number = (calls_.query_port)(context_.get(), static_cast<uint8_t>(port),
                                         reinterpret_cast<_compat_ibv_port_attr*>(&attributes));
  if (number != 0) return verbs_error(fmt::format("{}:{} cannot be asked", name_, port), number);
  return attributes;
}

Result<uint8_t> Device::mtu(int port) const {
  STRAIT_ASSIGN(const ibv_port_attr attributes, ask(port));
  return static_cast<uint8_t>(attributes.active_mtu);
}

}  // namespace strait::verbs
