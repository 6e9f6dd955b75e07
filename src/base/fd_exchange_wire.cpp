#include "base/fd_exchange_wire.hpp"

#include <sodium.h>
#include <sys/socket.h>

#include <cstring>

namespace strait::fd_wire {

Nonce fresh_nonce() {
  Nonce nonce;
  randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

Proof prove(std::span<const std::byte> secret, Side side, const Nonce& server_nonce,
            const Request& request) {
  Request asked = request;
  asked.proof = {};
  Proof proof;
  crypto_generichash_state state;
  crypto_generichash_init(&state, reinterpret_cast<const unsigned char*>(secret.data()),
                          secret.size(), proof.size());
  const auto side_byte = static_cast<unsigned char>(side);
  crypto_generichash_update(&state, &side_byte, 1);
  crypto_generichash_update(&state, server_nonce.data(), server_nonce.size());
  crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(&asked), sizeof asked);
  crypto_generichash_final(&state, proof.data(), proof.size());
  return proof;
}

bool same_proof(const Proof& a, const Proof& b) {
  return sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

bool send_packet(int socket, std::span<const std::byte> packet, int fd) {
  iovec part{.iov_base = const_cast<std::byte*>(packet.data()), .iov_len = packet.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  if (fd >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(packet.size());
}

ssize_t receive_packet(int socket, std::span<std::byte> packet, UniqueFd* fd) {
  iovec part{.iov_base = packet.data(), .iov_len = packet.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  // Without room for it the kernel closes a descriptor that nobody asked for.
  if (fd != nullptr) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
  }
  const ssize_t length = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (length < 0 || fd == nullptr) return length;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    int received = -1;
    std::memcpy(&received, CMSG_DATA(header), sizeof received);
    *fd = UniqueFd(received);
  }
  return length;
}

}  // namespace strait::fd_wire
