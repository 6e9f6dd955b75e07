// OpenSSL 3, opened when encryption is first asked for, so that the library needs it neither to
// load nor to run without encryption. Any thread; opened once and kept.
#pragma once

#ifdef STRAIT_WITH_OPENSSL

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/status.hpp"

namespace strait::net {

// What is used of it.
#define STRAIT_CRYPTO_CALLS(call)                                                            \
  call(BIO_clear_flags) call(BIO_get_data) call(BIO_get_new_index) call(BIO_meth_new)        \
      call(BIO_meth_set_ctrl) call(BIO_meth_set_read) call(BIO_meth_set_write) call(BIO_new) \
          call(BIO_set_data) call(BIO_set_flags) call(BIO_set_init) call(ERR_clear_error)    \
              call(ERR_peek_last_error) call(ERR_reason_error_string)
#define STRAIT_SSL_CALLS(call)                                                                   \
  call(SSL_CIPHER_find) call(SSL_CTX_ctrl) call(SSL_CTX_free) call(SSL_CTX_new)                  \
      call(SSL_CTX_set_ciphersuites) call(SSL_CTX_set_num_tickets)                               \
          call(SSL_CTX_set_psk_find_session_callback) call(SSL_CTX_set_psk_use_session_callback) \
              call(SSL_CTX_set_verify) call(SSL_CTX_set_ex_data) call(SSL_CTX_get_ex_data)       \
                  call(SSL_get_SSL_CTX) call(SSL_free) call(SSL_get_error) call(SSL_key_update)  \
                      call(SSL_new) call(SSL_read) call(SSL_SESSION_free) call(SSL_SESSION_new)  \
                          call(SSL_SESSION_set1_master_key) call(SSL_SESSION_set_cipher)         \
                              call(SSL_SESSION_set_protocol_version) call(SSL_set_accept_state)  \
                                  call(SSL_set_bio) call(SSL_set_connect_state) call(SSL_write)  \
                                      call(TLS_method)

struct OpenSsl {
#define STRAIT_CALL(name) decltype(&::name) name = nullptr;
  STRAIT_CRYPTO_CALLS(STRAIT_CALL)
  STRAIT_SSL_CALLS(STRAIT_CALL)
#undef STRAIT_CALL
};

Result<const OpenSsl*> open_ssl();

}  // namespace strait::net

#endif  // STRAIT_WITH_OPENSSL
