// Stops a carrier whose kernel loops on plain reads, where the layer never gets the word: a signal
// whose handler leaves the fibre for good. For the carrier's crew, from another thread, after the
// deadline only: what the kernel held is never given back.
#pragma once

#include <pthread.h>

namespace strait::simt {

// By the carrier itself, first.
void allow_interrupts();
void interrupt(pthread_t carrier);

}  // namespace strait::simt
