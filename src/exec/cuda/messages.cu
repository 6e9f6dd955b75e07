// The kernel of sends and receives some of which leave the domain: bytes with addresses where
// offsets stand, and floats of each lane's own type encoded straight into the send slot and decoded
// from the receive slot.

#include "exec/cuda/call.cuh"
#include "exec/cuda/coder.cuh"

extern "C" __global__ void __launch_bounds__(strait::kCodedThreads, 1)
    strait_coded_messages(const __grid_constant__ strait::DeviceCall call) {
  strait::gpu::run_call<strait::gpu::Uint8, strait::gpu::MessageCoder>(call);
}
STRAIT_SIMT_KERNEL(strait_coded_messages);
