"""torch.distributed with this library in NCCL's place: several ranks on one GPU, or one.

usage: LD_PRELOAD=.../libnccl.so.2 python3 torch_check.py WORLD_SIZE

Prints one record for tools/device_check; the exit code is 0 when every collective is right.
"""

import os
import socket
import sys
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing


def check(rank, world):
    """Whole numbers, so every order of addition gives the same bits."""
    def values(of_rank, count=100_003, dtype=torch.bfloat16):
        return (torch.arange(count, device="cuda") % 7 + of_rank).to(dtype)

    def expect(what, found, wanted):
        if not torch.equal(found, wanted):
            raise AssertionError(f"rank {rank}: {what} is wrong")

    for dtype in (torch.bfloat16, torch.float32, torch.int64):
        mine = values(rank, dtype=dtype)
        dist.all_reduce(mine)
        expect(f"all_reduce of {dtype}", mine, sum(values(r, dtype=dtype) for r in range(world)))
    mine = values(rank)
    dist.broadcast(mine, src=world - 1)
    expect("broadcast", mine, values(world - 1))
    gathered = torch.empty(world * 1000, device="cuda")
    dist.all_gather_into_tensor(gathered, values(rank, 1000, torch.float32))
    expect("all_gather", gathered, torch.cat([values(r, 1000, torch.float32)
                                              for r in range(world)]))
    scattered = torch.empty(1000, device="cuda")
    dist.reduce_scatter_tensor(scattered, values(rank, 1000 * world, torch.float32))
    whole = sum(values(r, 1000 * world, torch.float32) for r in range(world))
    expect("reduce_scatter", scattered, whole[1000 * rank:1000 * (rank + 1)])
    layer = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64).cuda())
    layer(torch.ones(8, 64, device="cuda")).sum().backward()
    if not all(torch.isfinite(p.grad).all() for p in layer.parameters()):
        raise AssertionError(f"rank {rank}: gradients of DistributedDataParallel are not finite")
    torch.cuda.synchronize()


def run(rank, world, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank),
                      WORLD_SIZE=str(world))
    torch.cuda.set_device(0)
    dist.init_process_group("nccl", timeout=timedelta(seconds=60))
    check(rank, world)
    dist.destroy_process_group()


def main():
    world = int(sys.argv[1])
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port = chosen.getsockname()[1]
    try:
        multiprocessing.spawn(run, args=(world, port), nprocs=world)
        verdict = "verdict=passed"
    except Exception as why:  # whatever it is, the record says it
        verdict = "why=" + " ".join(str(why).split())[-300:] + "\tverdict=FAILED"
    print(f"record\tpart=torch.distributed\tranks={world}\ttorch={torch.__version__}\t{verdict}",
          flush=True)
    return 0 if verdict == "verdict=passed" else 1


if __name__ == "__main__":
    sys.exit(main())
