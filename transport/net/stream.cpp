#include "transport/net/stream.hpp"

#include <sys/socket.h>

namespace strait::net {
namespace {

msghdr message_of(std::span<const iovec> pieces) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(pieces.data());
  message.msg_iovlen = pieces.size();
  return message;
}

}  // namespace

Result<Stream> Stream::over(UniqueFd fd, Side side, const std::shared_ptr<const TlsKey>& key) {
  Stream stream(std::move(fd));
  if (!key) return stream;
  STRAIT_ASSIGN(stream.tls_, key->session(stream.get(), side));
  return stream;
}

ssize_t Stream::send(std::span<const iovec> pieces) {
  if (tls_) return tls_->send(pieces);
  const msghdr message = message_of(pieces);
  return sendmsg(fd_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t Stream::receive(std::span<const iovec> pieces) {
  if (tls_) return tls_->receive(pieces);
  msghdr message = message_of(pieces);
  return recvmsg(fd_.get(), &message, MSG_DONTWAIT);
}

ssize_t Stream::send(std::span<const std::byte> bytes) {
  const iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
  return send(std::span(&piece, 1));
}

ssize_t Stream::receive(std::span<std::byte> bytes) {
  const iovec piece{bytes.data(), bytes.size()};
  return receive(std::span(&piece, 1));
}

void Stream::discard() {
  char bytes[4096];
  while (recv(fd_.get(), bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
  }
}

}  // namespace strait::net
