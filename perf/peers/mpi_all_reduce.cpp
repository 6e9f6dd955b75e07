// The peer: MPI_Allreduce of as many bytes, in the shape of our own programs' results. MPI has no
// bf16, and a reduction function of ours would measure our function; so the same number of bytes is
// summed as MPI_FLOAT, which every MPI has vectorised: half as many additions as for bf16, in the
// peer's favour.
//
//     mpirun -np 8 mpi_all_reduce_openmpi BYTES ITERATIONS [WARMUP]      prints one JSON object
#include <mpi.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

struct Arguments {
  size_t bytes = 0;
  int iterations = 0;
  int warmup = 3;
};

template <class T>
bool parse_number(const char* text, T* number) {
  const char* end = text + std::strlen(text);
  const auto parsed = std::from_chars(text, end, *number);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

bool parse(int argc, char** argv, Arguments* arguments) {
  if (argc < 3 || argc > 4) return false;
  if (!parse_number(argv[1], &arguments->bytes)) return false;
  if (!parse_number(argv[2], &arguments->iterations)) return false;
  if (argc == 4 && !parse_number(argv[3], &arguments->warmup)) return false;
  return arguments->bytes >= sizeof(float) && arguments->iterations > 0 && arguments->warmup >= 0;
}

// The mean over the ranks of each iteration's time, as our programs report it.
std::vector<double> measure(const Arguments& arguments, int rank, int size) {
  const size_t count = arguments.bytes / sizeof(float);
  std::vector<float> send(count), recv(count);
  for (size_t i = 0; i < count; ++i)
    send[i] = static_cast<float>((i * 2654435761u + static_cast<size_t>(rank)) % 1000) * 1e-3f;
  std::vector<double> times_us;
  for (int i = -arguments.warmup; i < arguments.iterations; ++i) {
    const double begin_s = MPI_Wtime();
    MPI_Allreduce(send.data(), recv.data(), static_cast<int>(count), MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
    if (i >= 0) times_us.push_back((MPI_Wtime() - begin_s) * 1e6);
  }
  std::vector<double> sums(times_us.size());
  MPI_Reduce(times_us.data(), sums.data(), static_cast<int>(sums.size()), MPI_DOUBLE, MPI_SUM, 0,
             MPI_COMM_WORLD);
  for (double& sum : sums) sum /= size;
  return sums;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Arguments arguments;
  if (!parse(argc, argv, &arguments)) {
    if (rank == 0) std::fprintf(stderr, "usage: %s BYTES ITERATIONS [WARMUP]\n", argv[0]);
    MPI_Finalize();
    return 6;
  }
  std::vector<double> times_us = measure(arguments, rank, size);
  if (rank == 0) {
    std::sort(times_us.begin(), times_us.end());
    const double median_us = times_us[times_us.size() / 2];
    const double p99_us = times_us[(times_us.size() * 99 + 99) / 100 - 1];
    std::printf("{\"peer\": \"" STRAIT_PEER
                "\", \"ranks\": %d, \"size\": %zu, \"iterations\": %d, \"p50\": %.2f, \"p99\": "
                "%.2f, \"min\": %.2f, \"alg_bw\": %.4f}\n",
                size, arguments.bytes, arguments.iterations, median_us, p99_us, times_us.front(),
                static_cast<double>(arguments.bytes) / median_us / 1e3);
  }
  MPI_Finalize();
  return 0;
}
