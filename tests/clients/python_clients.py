"""Clients as Python programs have them: by ctypes, one process for each rank, on host memory.

usage: python_clients.py LIBRARY
"""

import array
import ctypes
import importlib.util
import multiprocessing
import os
import subprocess
import sys
import threading
import time
import unittest

LIBRARY = sys.argv[-1]
FLOAT, INT32, SUM, MAX = 7, 2, 0, 2
SUCCESS, IN_PROGRESS = 0, 7

# What inference servers look up when they load the library; without one of them they turn away.
RESOLVED = """ncclGetErrorString ncclGetVersion ncclGetUniqueId ncclCommInitRank ncclAllReduce
  ncclReduce ncclAllGather ncclReduceScatter ncclSend ncclRecv ncclBroadcast ncclCommDestroy
  ncclCommAbort ncclGroupStart ncclGroupEnd ncclCommWindowRegister ncclCommWindowDeregister
  ncclCommQueryProperties ncclCommSuspend ncclCommResume""".split()


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_byte * 128)]


class Config28(ctypes.Structure):
    """The struct of NCCL 2.28, built by hand from its layout: 80 bytes."""
    _fields_ = [("size", ctypes.c_size_t), ("magic", ctypes.c_uint), ("version", ctypes.c_uint),
                *[(name, ctypes.c_int) for name in ("blocking", "cga", "min_ctas", "max_ctas")],
                ("net_name", ctypes.c_char_p), ("split_share", ctypes.c_int),
                ("traffic_class", ctypes.c_int), ("comm_name", ctypes.c_char_p),
                *[(name, ctypes.c_int) for name in (
                    "collnet", "cta_policy", "shrink_share", "nvls_ctas", "channels_per_peer",
                    "nvlink_centric")]]

    @classmethod
    def fresh(cls, version):
        undefined = -2**31
        config = cls(ctypes.sizeof(cls), 0xcafebeef, version)
        for name, kind in cls._fields_[3:]:
            if kind is ctypes.c_int:
                setattr(config, name, undefined)
        return config


class Nccl:
    """A wrapper of the kind that frameworks carry with them."""

    def __init__(self):
        self.library = ctypes.CDLL(LIBRARY)
        self.library.ncclGetErrorString.restype = ctypes.c_char_p
        self.library.ncclGetLastError.restype = ctypes.c_char_p

    def __getattr__(self, name):
        function = getattr(self.library, f"nccl{name}")

        def call(*arguments):
            result = function(*arguments)
            if result not in (SUCCESS, IN_PROGRESS):
                raise RuntimeError(f"nccl{name}: {self.library.ncclGetErrorString(result).decode()}"
                                   f": {self.library.ncclGetLastError(None).decode()}")
            return result
        return call

    def version(self):
        version = ctypes.c_int()
        self.GetVersion(ctypes.byref(version))
        return version.value

    def new_id(self):
        identity = UniqueId()
        self.GetUniqueId(ctypes.byref(identity))
        return bytes(identity)

    def join(self, identity, count, rank, config=None):
        comm = ctypes.c_void_p()
        by_value = UniqueId.from_buffer_copy(identity)
        if config is None:
            self.CommInitRank(ctypes.byref(comm), count, by_value, rank)
        else:
            self.CommInitRankConfig(ctypes.byref(comm), count, by_value, rank,
                                    ctypes.byref(config))
        return comm


def buffer(kind, values):
    memory = array.array(kind, values)
    address, _ = memory.buffer_info()
    return memory, ctypes.c_void_p(address)


def size(count):
    return ctypes.c_size_t(count)


def inference_server(identity, count, rank, _):
    """All-reduce of activations, all-gather of logits, a pipeline by send and receive, sleep."""
    nccl = Nccl()
    for name in RESOLVED:
        getattr(nccl.library, name)
    assert len(str(nccl.version())) == 5
    comm = nccl.join(identity, count, rank, Config28.fresh(nccl.version()))
    values, place = buffer("f", [rank + 1.0] * 1000)
    for _ in range(3):
        nccl.AllReduce(place, place, size(1000), FLOAT, MAX, comm, None)
    assert values[999] == float(count)
    _, mine = buffer("i", [rank] * 4)
    everyone, gathered = buffer("i", [0] * 4 * count)
    nccl.AllGather(mine, gathered, size(4), INT32, comm, None)
    assert list(everyone) == [peer for peer in range(count) for _ in range(4)]
    if rank > 0:
        nccl.Recv(mine, size(4), INT32, rank - 1, comm, None)
    if rank < count - 1:
        nccl.Send(mine, size(4), INT32, rank + 1, comm, None)
    nccl.CommSuspend(comm, 1)
    nccl.CommResume(comm)
    nccl.AllReduce(place, place, size(1000), FLOAT, SUM, comm, None)
    assert values[0] == float(count * count)
    nccl.CommDestroy(comm)


def array_library(identity, count, rank, _):
    """Every collective once, by the codes and calls that array libraries know."""
    nccl = Nccl()
    comm = nccl.join(identity, count, rank)
    number = ctypes.c_int(-1)
    for name, expected in (("CommCuDevice", 0), ("CommUserRank", rank), ("CommCount", count)):
        getattr(nccl, name)(comm, ctypes.byref(number))
        assert number.value == expected, name
    values, place = buffer("f", [1.0] * 8 * count)
    nccl.Bcast(place, size(8), FLOAT, 0, comm, None)
    nccl.Broadcast(place, place, size(8), FLOAT, count - 1, comm, None)
    nccl.Reduce(place, place, size(8), FLOAT, SUM, 0, comm, None)
    assert values[0] == (float(count) if rank == 0 else 1.0)
    parts, scattered = buffer("f", [0.0] * 8)
    _, ones = buffer("f", [1.0] * 8 * count)
    nccl.ReduceScatter(ones, scattered, size(8), FLOAT, SUM, comm, None)
    assert list(parts) == [float(count)] * 8
    everything, gathered = buffer("f", [0.0] * 8 * count)
    nccl.AllGather(scattered, gathered, size(8), FLOAT, comm, None)
    assert set(everything) == {float(count)}
    nccl.GroupStart()
    nccl.Send(place, size(8), FLOAT, (rank + 1) % count, comm, None)
    _, other = buffer("f", [0.0] * 8)
    nccl.Recv(other, size(8), FLOAT, (rank - 1) % count, comm, None)
    nccl.GroupEnd()
    state = ctypes.c_int(-1)
    nccl.CommGetAsyncError(comm, ctypes.byref(state))
    assert state.value == SUCCESS
    child = ctypes.c_void_p()
    nccl.CommSplit(comm, rank % 2, rank, ctypes.byref(child), None)
    nccl.AllReduce(place, place, size(8), FLOAT, SUM, child, None)
    nccl.CommDestroy(child)
    nccl.CommDestroy(comm)


def training_job(identity, count, rank, everybody):
    """Fused groups of all-reduces, a watchdog that asks for errors, and an abort at the end."""
    nccl = Nccl()
    comm = nccl.join(identity, count, rank)
    stop = threading.Event()
    seen = []

    def watchdog():
        state = ctypes.c_int(-1)
        while not stop.is_set():
            nccl.CommGetAsyncError(comm, ctypes.byref(state))
            seen.append(state.value)
            time.sleep(0.001)

    thread = threading.Thread(target=watchdog, daemon=True)
    thread.start()
    tensors = [buffer("f", [float(rank)] * length) for length in (1, 1000, 65536)]
    for _ in range(5):
        nccl.GroupStart()
        for values, place in tensors:
            nccl.AllReduce(place, place, size(len(values)), FLOAT, MAX, comm, None)
        nccl.GroupEnd()
    assert all(set(values) == {float(count - 1)} for values, _ in tensors)
    stop.set()
    thread.join()
    assert set(seen) == {SUCCESS}
    everybody.wait(30)  # an abort does not wait for what peers still read
    nccl.CommAbort(comm)


def in_processes(body, count):
    context = multiprocessing.get_context("fork")
    identity = context.Queue()
    everybody = context.Barrier(count)

    def run(rank):
        if rank == 0:
            made = Nccl().new_id()
            for _ in range(count - 1):
                identity.put(made)
        else:
            made = identity.get(timeout=30)
        body(made, count, rank, everybody)

    processes = [context.Process(target=run, args=(rank,)) for rank in range(count)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    return [process.exitcode for process in processes]


class PythonClients(unittest.TestCase):
    def test_an_inference_server(self):
        self.assertEqual(in_processes(inference_server, 2), [0, 0])
        self.assertEqual(in_processes(inference_server, 4), [0] * 4)

    def test_an_array_library(self):
        self.assertEqual(in_processes(array_library, 3), [0] * 3)

    def test_a_training_job(self):
        self.assertEqual(in_processes(training_job, 3), [0] * 3)

    def test_what_torch_asks_for_is_there(self):
        where = os.environ.get("TORCH_LIBRARIES")
        if where is None:
            spec = importlib.util.find_spec("torch")
            if spec is None or not spec.submodule_search_locations:
                self.skipTest("torch is not installed")
            where = os.path.join(spec.submodule_search_locations[0], "lib")
        cuda = os.path.join(where, "libtorch_cuda.so")
        if not os.path.exists(cuda):
            self.skipTest("this torch has no CUDA library")
        symbols = subprocess.run(["nm", "-D", "--undefined-only", cuda], stdout=subprocess.PIPE,
                                 text=True, check=True).stdout.split()
        wanted = {name for name in symbols if name.startswith("nccl")}
        self.assertGreater(len(wanted), 20)
        library = ctypes.CDLL(LIBRARY)
        self.assertEqual([name for name in sorted(wanted) if not hasattr(library, name)], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
