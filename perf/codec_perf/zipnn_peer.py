#!/usr/bin/env python3
"""ZipNN on the values that come on standard input, chunk by chunk, on one thread.

usage: zipnn_peer.py TYPE CHUNK_BYTES ROUNDS < values

Prints one JSON object. Times are those of the whole process, as ZipNN works in threads of its own.
"""
import json
import statistics
import sys
import time
from unittest.mock import MagicMock

# ZipNN imports these, and needs none of them for plain bytes; with them it takes 4 GB of disk.
for name in ("torch", "safetensors", "safetensors.torch"):
    sys.modules[name] = MagicMock()

from zipnn import ZipNN  # noqa: E402

TYPES = {"bfloat16": "bfloat16", "half": "float16", "float": "float32"}


def main():
    kind, chunk_bytes, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    values = sys.stdin.buffer.read()
    pieces = [values[at:at + chunk_bytes] for at in range(0, len(values), chunk_bytes)]
    zipnn = ZipNN(input_format="byte", bytearray_dtype=TYPES[kind], threads=1)
    encode, decode = [], []
    exact, wire = True, 0
    for _ in range(rounds):
        inputs = [bytearray(piece) for piece in pieces]  # it works in place
        start = time.process_time()
        chunks = [zipnn.compress(piece) for piece in inputs]
        encode.append(time.process_time() - start)
        start = time.process_time()
        back = [zipnn.decompress(chunk) for chunk in chunks]
        decode.append(time.process_time() - start)
        exact = exact and all(bytes(a) == b for a, b in zip(back, pieces))
        wire = sum(map(len, chunks))
    print(json.dumps({"saving": 1 - wire / len(values), "exact": exact,
                      "encode_gbs": len(values) / 1e9 / statistics.median(encode),
                      "decode_gbs": len(values) / 1e9 / statistics.median(decode)}))


main()
