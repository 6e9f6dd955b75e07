// Cases drawn by lot: collectives that somebody may meet, in every shape of plan. Pure; the same
// seed draws the same case in every process.
#pragma once

#include "api/cuda/gpu_case.hpp"

namespace strait::test {

inline Request request_of(Collective collective, DataType type, uint64_t count, int root = 1) {
  return {.collective = collective,
          .type = type,
          .reduce = ReduceKind::kSum,
          .count = count,
          .root = root};
}

// A case that somebody may meet.
// For so many ranks; 0: they are drawn too.
inline Case draw_case(uint64_t seed, int ranks = 0) {
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t limit) { return random() % limit; };
  const auto one_of = [&](std::initializer_list<const char*> texts) {
    return std::string(texts.begin()[below(texts.size())]);
  };
  Case drawn;
  drawn.ranks = ranks != 0 ? ranks : static_cast<int>(2 + below(7));
  drawn.devices = below(4) == 0 ? 1 : 4;
  drawn.request =
      request_of(static_cast<Collective>(below(8)), static_cast<DataType>(below(kDataTypeCount)),
                 1 + below(1U << (2 + below(12))),
                 static_cast<int>(below(static_cast<uint64_t>(drawn.ranks))));
  drawn.op = static_cast<int>(below(ncclNumOps));
  drawn.in_place = below(2) == 0;
  drawn.misaligned = below(3);
  if (below(4) == 0) drawn.scalar = below(2) == 0 ? Scalar::kHost : Scalar::kDevice;
  drawn.settings["STRAIT_ALGO"] =
      one_of({"auto", "ring", "tree", "one_shot", "two_shot", "direct", "hierarchical"});
  drawn.settings["STRAIT_LANES"] = one_of({"0", "1", "2", "3"});
  drawn.settings["STRAIT_CHUNK_BYTES"] = one_of({"0", "0", "512", "3000"});
  drawn.settings["STRAIT_SLOT_BYTES"] = one_of({"4K", "128K"});
  drawn.settings["STRAIT_SLOTS"] = one_of({"2", "4"});
  drawn.settings["STRAIT_THREADS"] = one_of({"32", "64", "512"});
  drawn.settings["STRAIT_EMULATE_DOMAINS"] = one_of({"0", "1", "2", "3"});
  drawn.settings["STRAIT_COMPRESS"] = one_of({"off", "fast", "dense", "auto"});
  drawn.settings["STRAIT_CHECKSUM"] = one_of({"off", "on"});
  drawn.settings["STRAIT_REPRODUCIBLE"] = one_of({"off", "size", "placement"});
  return drawn;
}

}  // namespace strait::test
