#!/usr/bin/env python3
"""Counts the instructions of the kernels' bulk loops, where there is no GPU to time them.

A loop is found by what it must do: instructions that it has to pass, so and so often. Of all ways
around a loop that do, the shortest is counted, each instruction once, predicated ones too; a way
that spills is none. A warp issues that many for a block of 512 values (codec), or for 16 bytes of
each thread (collectives).

usage: bulk_instructions.py BUILD_FOLDER
STRAIT_CUOBJDUMP names cuobjdump where it is neither on PATH nor with the toolkit; the Python
package nvidia-cuda-cuobjdump has one.
"""

import heapq
import os
import re
import shutil
import subprocess
import sys

ARCHITECTURES = ("sm_90", "sm_100")
ENCODE, DECODE = "codec/strait_codec_images/encode", "codec/strait_codec_images/decode"
PLAIN = "src/exec/exec_kernels/collectives"
WARP_SUMS, WARP_MIN = (r"REDUX\.SUM", 7), (r"REDUX\.MIN", 1)
SCAN, PLANES, ESCAPES = (r"SHFL\.UP", 5), (r"SHFL\.BFLY", 3), ("FLO", 1)
OF_LIST = (r"SHFL\.IDX", 5)  # what a lane of the block knows, and a byte of its list
# A block's rows, of one, two and four bytes a value.
ROWS = {1: r"\b%s?\.E (?!\.)", 2: r"\b%s?\.E\.64 ", 4: r"\b%s?\.E\.128 "}


def rows(instruction, size):
    return ROWS[size] % instruction, 4


def words(instruction, count):
    return ROWS[1] % instruction, count


def encode(size, *more):
    return [rows("LDG", size), WARP_SUMS, WARP_MIN, SCAN, ("BAR", 1), *more]


def sums(loads):
    return [(r"\bLDG?\.E\.128 ", 2 * loads), (r"\bSTG?\.E\.128 ", loads)]


# What is counted: name, image, kernel, how many times 16 bytes a turn moves (0: a block), and what
# the way passes. Planes are read and written as words of 32 bits; "escapes": a lane has one.
LOOPS = (
    ("encode fast", ENCODE, "strait_encode_fast_bfloat16", 0,
     encode(2, PLANES, words("STG", 6))),
    ("encode fast, escapes", ENCODE, "strait_encode_fast_bfloat16", 0,
     encode(2, PLANES, words("STG", 6), ESCAPES)),
    ("decode fast", DECODE, "strait_decode_bfloat16", 0,
     [rows("STG", 2), PLANES, words("LDG", 6)]),
    ("decode fast, escapes", DECODE, "strait_decode_bfloat16", 0,
     [rows("STG", 2), SCAN, PLANES, words("LDG", 6), ESCAPES, OF_LIST]),
    ("encode dense", ENCODE, "strait_encode_dense_bfloat16", 0,
     [rows("LDG", 2), (r"REDUX\.SUM", 11), (r"REDUX\.MIN", 2), (r"LDS\.64", 32), ("ATOM", 2),
      words("STG", 4), ("BAR", 1)]),
    ("decode dense", DECODE, "strait_decode_bfloat16", 0,
     [rows("STG", 2), (r"LDS\.U8", 16), words("LDG", 4)]),
    ("encode fast, escapes, float", ENCODE, "strait_encode_fast_float", 0,
     encode(4, PLANES, words("STG", 14), ESCAPES)),
    ("decode fast, escapes, float", DECODE, "strait_decode_float", 0,
     [rows("STG", 4), SCAN, PLANES, words("LDG", 14), ESCAPES, OF_LIST]),
    ("encode fast, escapes, f8e4m3", ENCODE, "strait_encode_fast_f8e4m3", 0,
     encode(1, (r"SHFL\.BFLY", 6), words("STG", 4), ESCAPES)),
    ("decode fast, escapes, f8e4m3", DECODE, "strait_decode_f8e4m3", 0,
     [rows("STG", 1), SCAN, (r"SHFL\.BFLY", 6), words("LDG", 4), ESCAPES, OF_LIST]),
    ("sum of floats", PLAIN, "strait_float", 4, sums(4)),
    ("sum of bfloat16", PLAIN, "strait_bfloat16", 2, sums(2)),
    ("copy", PLAIN, "strait_float", 8,
     [(r"\bLDG?\.E\.128 ", 8), (r"\bSTG?\.E\.128 ", 8)]),
)


def find_cuobjdump():
    """Its path, or None."""
    places = [os.environ.get("STRAIT_CUOBJDUMP"), shutil.which("cuobjdump"),
              "/usr/local/cuda/bin/cuobjdump", "/opt/cuda/bin/cuobjdump"]
    return next((place for place in places if place and os.access(place, os.X_OK)), None)


def disassemble(cuobjdump, image, kernel, architecture):
    """[(address, text)] of a kernel and the functions that it calls."""
    command = [cuobjdump, "-sass", "-arch", architecture, "-fun", kernel, image]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.findall(r"^\s+/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;?\s*/\*", text, re.MULTILINE)
    return [(int(address, 16), code) for address, code in found]


def successors(code):
    """For each instruction the numbers of those that may follow. Calls are taken to return, and
    what spills to lead nowhere."""
    place = {address: number for number, (address, _) in enumerate(code)}
    follow = []
    for number, (_, text) in enumerate(code):
        match = re.match(r"(@!?U?P\w+\s+)?([A-Z0-9_.]+)(.*)", text)
        conditional, name, rest = bool(match.group(1)), match.group(2), match.group(3)
        target = re.search(r"\b0x([0-9a-f]+)\b", rest)
        if name.startswith("BRA.DIV"):  # lanes apart, where a warp's ought to be together
            after = [number + 1]
        elif name.startswith(("BRA", "JMP")) and target:
            after = [place[int(target.group(1), 16)]]
            if conditional or re.search(r"\b!?U?P\d|\bUR\d", rest):
                after.append(number + 1)
        elif name.startswith(("LDL", "STL")):
            after = []
        elif name.startswith(("EXIT", "RET", "BRX", "BPT")):
            after = [number + 1] if conditional else []
        else:
            after = [number + 1]
        follow.append([next_one for next_one in after if next_one < len(code)])
    return follow


def pieces_of(code, follow):
    """[(first, end)] of the longest runs without a way in or out, and what follows each."""
    starts = {0} | {after for number, ones in enumerate(follow) for after in ones
                    if ones != [number + 1]}
    starts |= {number + 1 for number, ones in enumerate(follow) if ones != [number + 1]}
    starts = sorted(start for start in starts if start < len(code))
    pieces = list(zip(starts, starts[1:] + [len(code)]))
    number_of = {start: number for number, start in enumerate(starts)}
    return pieces, [[number_of[after] for after in follow[end - 1]] for _, end in pieces]


def shortest_turn(code, anchors):
    """Instructions of the shortest way around a loop that passes all anchors; None: no way does."""
    pieces, follow = pieces_of(code, successors(code))
    hits = [[sum(bool(re.search(pattern, text)) for _, text in code[first:end])
             for pattern, _ in anchors] for first, end in pieces]
    need = tuple(count for _, count in anchors)
    # From the places of the rarest anchor.
    rarest = min(range(len(need)), key=lambda which: sum(hit[which] > 0 for hit in hits))
    best = None
    for start, hit in enumerate(hits):
        if hit[rarest]:
            best = turn_from(start, pieces, follow, hits, need, best)
    return best


def turn_from(start, pieces, follow, hits, need, best):
    """The same of ways that start with a piece, or `best` where none is shorter."""
    def entered(number, passed):
        return number, tuple(map(min, need, map(sum, zip(passed, hits[number]))))

    size = [end - first for first, end in pieces]
    first = entered(start, (0,) * len(need))
    cost, queue = {first: size[start]}, [(size[start], first)]
    while queue:
        spent, (number, passed) = heapq.heappop(queue)
        if best is not None and spent >= best:
            return best
        if spent > cost[(number, passed)]:
            continue
        for after in follow[number]:
            if after == start:
                if passed == need:
                    return spent
                continue
            state = entered(after, passed)
            if spent + size[after] < cost.get(state, 1 << 30):
                cost[state] = spent + size[after]
                heapq.heappush(queue, (cost[state], state))
    return best


def count(build, architecture, cuobjdump):
    """{loop: instructions, of a block or of 16 bytes a thread}."""
    counts = {}
    for name, image, kernel, vectors, anchors in LOOPS:
        path = os.path.join(build, image + ".fatbin")
        turn = shortest_turn(disassemble(cuobjdump, path, kernel, architecture), anchors)
        counts[name] = None if turn is None else round(turn / vectors, 1) if vectors else turn
    return counts


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    cuobjdump = find_cuobjdump()
    if cuobjdump is None:
        sys.exit("bulk_instructions: there is no cuobjdump; set STRAIT_CUOBJDUMP, or install the "
                 "Python package nvidia-cuda-cuobjdump")
    columns = [count(sys.argv[1], architecture, cuobjdump) for architecture in ARCHITECTURES]
    print("| loop | " + " | ".join(ARCHITECTURES) + " |\n|---|" + "---|" * len(columns))
    for name, *_ in LOOPS:
        print(f"| {name} | " + " | ".join(str(column[name]) for column in columns) + " |")


if __name__ == "__main__":
    main()
