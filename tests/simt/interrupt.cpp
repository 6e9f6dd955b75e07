#include "simt/interrupt.hpp"

#include <csignal>
#include <mutex>

#include "simt/block.hpp"

namespace strait::simt {
namespace {

// A real-time signal that neither the C library nor the programs under test use.
int signal_number() {
  return SIGRTMIN + 7;
}

// Of another copy of this layer: a stand-in library and its test each have one.
struct sigaction before = {};

void handle(int signal) {
  Block::interrupted();
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) before.sa_handler(signal);
}

}  // namespace

void allow_interrupts() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_handler = handle;
    // The handler may never return, so that the signal must not stay blocked.
    action.sa_flags = SA_NODEFER | SA_RESTART;
    sigaction(signal_number(), &action, &before);
  });
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal_number());
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void interrupt(pthread_t carrier) {
  pthread_kill(carrier, signal_number());
}

}  // namespace strait::simt
