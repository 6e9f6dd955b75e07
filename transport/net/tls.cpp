#include "transport/net/tls.hpp"

#include <mutex>

#ifdef STRAIT_WITH_OPENSSL

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "transport/net/handshake.hpp"
#include "transport/net/openssl.hpp"

namespace strait::net {
namespace {

constexpr std::string_view kIdentity = "strait";
constexpr const char* kCipher = "TLS_AES_128_GCM_SHA256";
constexpr unsigned char kCipherId[] = {0x13, 0x01};
constexpr size_t kRecordBytesMax = 16 << 10;
// A key of AES-GCM is good for 2^24.5 full records; it is replaced well before.
constexpr uint64_t kRecordsPerKey = 1 << 22;

const unsigned char* raw(const void* bytes) {
  return static_cast<const unsigned char*>(bytes);
}

class Session;

class Key final : public TlsKey, public std::enable_shared_from_this<Key> {
 public:
  Key(const OpenSsl& ssl, std::string_view shared_key) : ssl_(ssl) {
    const std::span<const std::byte> pieces[] = {std::as_bytes(std::span(shared_key))};
    key_ = keyed_hash({}, "pre-shared key", pieces);
  }
  ~Key() override {
    for (SSL_CTX* context : contexts_)
      if (context != nullptr) ssl_.SSL_CTX_free(context);
  }

  Status start() {
    method_ = ssl_.BIO_meth_new(ssl_.BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "strait socket");
    bool good = method_ != nullptr && ssl_.BIO_meth_set_write(method_, write_socket) == 1 &&
                ssl_.BIO_meth_set_read(method_, read_socket) == 1 &&
                ssl_.BIO_meth_set_ctrl(method_, control_socket) == 1;
    for (SSL_CTX*& context : contexts_) {
      context = good ? ssl_.SSL_CTX_new(ssl_.TLS_method()) : nullptr;
      good = context != nullptr &&
             ssl_.SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_3_VERSION, nullptr) ==
                 1 &&
             ssl_.SSL_CTX_set_ciphersuites(context, kCipher) == 1 &&
             ssl_.SSL_CTX_set_num_tickets(context, 0) == 1 &&
             ssl_.SSL_CTX_set_ex_data(context, 0, this) == 1;
      if (!good) return error(Code::kSystemError, "OpenSSL refuses TLS 1.3 with {}", kCipher);
      ssl_.SSL_CTX_ctrl(context, SSL_CTRL_MODE,
                        SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER,
                        nullptr);
    }
    // A listener that does not know the key would need a certificate, and has none.
    ssl_.SSL_CTX_set_verify(contexts_[0], SSL_VERIFY_PEER, nullptr);
    ssl_.SSL_CTX_set_psk_use_session_callback(contexts_[0], use_session);
    ssl_.SSL_CTX_set_psk_find_session_callback(contexts_[1], find_session);
    return Status();
  }

  Result<std::unique_ptr<TlsSession>> session(int fd, Side side) const override;

  const OpenSsl& ssl() const { return ssl_; }

 private:
  static const Key& of(SSL* ssl) {
    const Result<const OpenSsl*> calls = open_ssl();
    return *static_cast<const Key*>(
        (*calls)->SSL_CTX_get_ex_data((*calls)->SSL_get_SSL_CTX(ssl), 0));
  }

  SSL_SESSION* session_of_key(SSL* ssl) const {
    SSL_SESSION* const session = ssl_.SSL_SESSION_new();
    const SSL_CIPHER* const cipher = ssl_.SSL_CIPHER_find(ssl, kCipherId);
    const bool good =
        session != nullptr && cipher != nullptr &&
        ssl_.SSL_SESSION_set1_master_key(session, raw(key_.data()), key_.size()) == 1 &&
        ssl_.SSL_SESSION_set_cipher(session, cipher) == 1 &&
        ssl_.SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1;
    if (good) return session;
    ssl_.SSL_SESSION_free(session);
    return nullptr;
  }

  static int use_session(SSL* ssl, const EVP_MD*, const unsigned char** id, size_t* id_bytes,
                         SSL_SESSION** session) {
    *id = raw(kIdentity.data());
    *id_bytes = kIdentity.size();
    *session = of(ssl).session_of_key(ssl);
    return *session != nullptr ? 1 : 0;
  }
  static int find_session(SSL* ssl, const unsigned char* id, size_t id_bytes,
                          SSL_SESSION** session) {
    const std::string_view name(reinterpret_cast<const char*>(id), id_bytes);
    *session = name == kIdentity ? of(ssl).session_of_key(ssl) : nullptr;
    return 1;  // none is no error here: the handshake then fails for want of a certificate
  }

  static int write_socket(BIO* bio, const char* bytes, int count);
  static int read_socket(BIO* bio, char* bytes, int count);
  static long control_socket(BIO*, int command, long, void*) {
    return command == BIO_CTRL_FLUSH ? 1 : 0;
  }

  const OpenSsl& ssl_;
  Hash key_;
  BIO_METHOD* method_ = nullptr;  // BIOs may outlive the key: never freed
  std::array<SSL_CTX*, 2> contexts_{};
};

class Session final : public TlsSession {
 public:
  Session(std::shared_ptr<const Key> key, SSL* ssl, int fd)
      : key_(std::move(key)), calls_(key_->ssl()), ssl_(ssl), fd_(fd) {}
  ~Session() override { calls_.SSL_free(ssl_); }

  ssize_t send(std::span<const iovec> pieces) override {
    std::lock_guard lock(mutex_);
    return move(pieces, [this](char* bytes, size_t count) {
      const int sent = calls_.SSL_write(ssl_, bytes, static_cast<int>(count));
      begun_ = sent <= 0;
      if (sent > 0 && ++records_ % kRecordsPerKey == 0)
        calls_.SSL_key_update(ssl_, SSL_KEY_UPDATE_NOT_REQUESTED);
      return sent;
    });
  }

  ssize_t receive(std::span<const iovec> pieces) override {
    std::lock_guard lock(mutex_);
    return move(pieces, [this](char* bytes, size_t count) {
      return calls_.SSL_read(ssl_, bytes, static_cast<int>(count));
    });
  }

  bool begun() const override {
    std::lock_guard lock(mutex_);
    return begun_;
  }

  std::string problem() const override {
    std::lock_guard lock(mutex_);
    return problem_;
  }

 private:
  friend class Key;

  // Record by record, until all is moved or the socket does not go on.
  template <class Step>
  ssize_t move(std::span<const iovec> pieces, Step&& step) {
    ssize_t total = 0;
    for (const iovec& piece : pieces) {
      auto* bytes = static_cast<char*>(piece.iov_base);
      size_t left = piece.iov_len;
      while (left > 0) {
        calls_.ERR_clear_error();
        const int count = step(bytes, std::min(left, kRecordBytesMax));
        if (count <= 0) return stopped(count, total);
        bytes += count;
        left -= static_cast<size_t>(count);
        total += count;
      }
    }
    return total;
  }

  ssize_t stopped(int count, ssize_t total) {
    const int why = calls_.SSL_get_error(ssl_, count);
    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) {
      errno = EAGAIN;
      return total > 0 ? total : -1;
    }
    // Said once: a session that failed answers later calls without a reason.
    if (why == SSL_ERROR_SSL && problem_.empty()) {
      const char* const reason = calls_.ERR_reason_error_string(calls_.ERR_peek_last_error());
      problem_ = reason != nullptr ? reason : "unknown TLS failure";
    }
    if (total > 0) return total;  // the next call meets it again
    if (problem_.empty() && (why == SSL_ERROR_ZERO_RETURN || ended_)) return 0;
    errno = problem_.empty() ? socket_errno_ : EPROTO;
    return -1;
  }

  const std::shared_ptr<const Key> key_;  // whose call-backs the handshake uses
  const OpenSsl& calls_;
  SSL* const ssl_;
  const int fd_;
  mutable std::mutex mutex_;
  bool begun_ = false;
  bool ended_ = false;
  int socket_errno_ = 0;
  uint64_t records_ = 0;
  std::string problem_;
};

int Key::write_socket(BIO* bio, const char* bytes, int count) {
  const OpenSsl& calls = **open_ssl();
  auto& session = *static_cast<Session*>(calls.BIO_get_data(bio));
  calls.BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
  const ssize_t sent =
      ::send(session.fd_, bytes, static_cast<size_t>(count), MSG_NOSIGNAL | MSG_DONTWAIT);
  session.socket_errno_ = sent < 0 ? errno : 0;
  if (sent < 0 && (errno == EAGAIN || errno == EINTR))
    calls.BIO_set_flags(bio, BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY);
  return static_cast<int>(sent);
}

int Key::read_socket(BIO* bio, char* bytes, int count) {
  const OpenSsl& calls = **open_ssl();
  auto& session = *static_cast<Session*>(calls.BIO_get_data(bio));
  calls.BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
  const ssize_t got = ::recv(session.fd_, bytes, static_cast<size_t>(count), MSG_DONTWAIT);
  session.socket_errno_ = got < 0 ? errno : 0;
  session.ended_ = got == 0;
  if (got < 0 && (errno == EAGAIN || errno == EINTR))
    calls.BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY);
  return static_cast<int>(got);
}

Result<std::unique_ptr<TlsSession>> Key::session(int fd, Side side) const {
  SSL* const ssl = ssl_.SSL_new(contexts_[side == Side::kCaller ? 0 : 1]);
  BIO* const bio = ssl != nullptr ? ssl_.BIO_new(method_) : nullptr;
  if (bio == nullptr)
    return error(Code::kSystemError, "OpenSSL has no memory for an encrypted connection");
  auto session = std::make_unique<Session>(shared_from_this(), ssl, fd);
  ssl_.BIO_set_data(bio, session.get());
  ssl_.BIO_set_init(bio, 1);
  ssl_.SSL_set_bio(ssl, bio, bio);
  side == Side::kCaller ? ssl_.SSL_set_connect_state(ssl) : ssl_.SSL_set_accept_state(ssl);
  return std::unique_ptr<TlsSession>(std::move(session));
}

}  // namespace

Result<std::shared_ptr<const TlsKey>> TlsKey::make(std::string_view shared_key) {
  STRAIT_ASSIGN(const OpenSsl* const calls, open_ssl());
  auto key = std::make_shared<Key>(*calls, shared_key);
  STRAIT_TRY(key->start());
  return std::shared_ptr<const TlsKey>(std::move(key));
}

}  // namespace strait::net

#else

namespace strait::net {

Result<std::shared_ptr<const TlsKey>> TlsKey::make(std::string_view) {
  return error(Code::kInvalidUsage,
               "this build has no encryption: build it where OpenSSL 3 is installed (libssl-dev)");
}

}  // namespace strait::net

#endif  // STRAIT_WITH_OPENSSL

namespace strait::net {
namespace {

struct ProcessKey {
  std::mutex mutex;
  std::shared_ptr<const TlsKey> key;
};

ProcessKey& current() {
  static auto* const only = new ProcessKey;  // never destroyed: the reactor's thread outlives it
  return *only;
}

}  // namespace

void set_process_key(std::shared_ptr<const TlsKey> key) {
  std::lock_guard lock(current().mutex);
  current().key = std::move(key);
}

std::shared_ptr<const TlsKey> process_key() {
  std::lock_guard lock(current().mutex);
  return current().key;
}

}  // namespace strait::net
