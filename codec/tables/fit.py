#!/usr/bin/env python3
"""Makes codec/tables/tables.inc: the code tables that the dense mode has built in.

Tables are clusters of blocks: each block goes to the table that codes it in the fewest bits, each
table is the best length-limited code for its blocks, and so on until little changes. The blocks are
drawn from distributions that tensors resemble; no measured tensor is needed. `--score
FILE.safetensors ...` says how the tables do on real ones.

`--fit FILE.safetensors ...` makes tables of the user instead, from the tensors of those files, and
prints them as install_table() (codec/user_tables.hpp) takes them.

Needs numpy.  usage: fit.py [--score FILE ...] [--write]
                     fit.py --fit FILE ... [--tables N]
"""
import argparse
import heapq
import json
import math
import pathlib

import numpy as np

BLOCK = 512
TABLES = 32
SYMBOLS = 14          # exponents with a code of their own; then ZERO and ESCAPE
LIMIT = 8             # bits of the longest code
ESCAPE_BITS = 8       # the byte in the list
REACH = 40            # exponents on either side of the mean that are told apart
LOW_TABLES = 16       # tables for the trailing zeros of the low half of a float
random = np.random.default_rng(20261130)


# ---- code lengths --------------------------------------------------------------------------------

def limited_lengths(weights):
    """Lengths of the best prefix code of at most LIMIT bits (package-merge)."""
    n = len(weights)
    if n == 1:
        return [1]
    items = sorted((float(w), (i,)) for i, w in enumerate(weights))
    packages = list(items)
    for _ in range(LIMIT - 1):
        pairs = [(packages[k][0] + packages[k + 1][0], packages[k][1] + packages[k + 1][1])
                 for k in range(0, len(packages) - 1, 2)]
        packages = list(heapq.merge(items, pairs, key=lambda package: package[0]))
    lengths = [0] * n
    for _, members in packages[:2 * n - 2]:
        for i in members:
            lengths[i] += 1
    return lengths


def long_share(lengths):
    """The part of the code space that codes of more than five bits take: they must fit behind one
    prefix of three bits."""
    return sum(2.0 ** -l for l in lengths if l > 5)


def fit_code(weights, escape_weight):
    """Lengths for weights (0: no code, escaped) and for the escape, and the total bits."""
    present = [i for i in np.argsort(-np.asarray(weights)) if weights[i] > 0]
    best = None
    for keep in range(1, len(present) + 1):
        used = present[:keep]
        rest = escape_weight + sum(weights[i] for i in present[keep:])
        lengths = limited_lengths([weights[i] for i in used] + [max(rest, 1e-9)])
        if long_share(lengths) > 0.125:
            continue
        bits = sum(weights[i] * l for i, l in zip(used, lengths))
        bits += rest * (lengths[-1] + ESCAPE_BITS)
        if best is None or bits < best[0]:
            full = [0] * len(weights)
            for i, l in zip(used, lengths):
                full[i] = l
            best = (bits, full, lengths[-1])
    return best


# ---- blocks --------------------------------------------------------------------------------------

def exponents_of(values, exponent_bits=8, mantissa_bits=7):
    """The stored exponents of float values in a type of these widths."""
    bias = 2 ** (exponent_bits - 1) - 1
    exponent = np.zeros(values.shape, int)
    nonzero = values != 0
    exponent[nonzero] = np.floor(np.log2(np.abs(values[nonzero]))).astype(int) + bias
    return np.clip(exponent, 0, 2 ** exponent_bits - 1)


def histograms(exponents):
    """Per block: counts by mean - exponent (REACH in the middle), zeros in a column at the end."""
    blocks = exponents[:len(exponents) // BLOCK * BLOCK].reshape(-1, BLOCK)
    found = []
    for block in blocks:
        if block.min() == block.max():
            continue
        mean = int(block.sum()) // BLOCK
        near = np.count_nonzero((block <= mean + 6) & (block > mean - 9))
        if near < BLOCK - BLOCK // 4 and (block != 0).any():
            mean = int(block.sum()) // np.count_nonzero(block)
        counts = np.zeros(2 * REACH + 2)
        rest = block[block != 0]
        np.add.at(counts, np.clip(mean - rest + REACH, 0, 2 * REACH), 1)
        counts[-1] = BLOCK - len(rest)
        found.append(counts)
    return found


def synthetic_values(blocks):
    """Arrays of values like those of gradients, weights, activations and caches, each block of a
    scale of its own."""
    shape = (blocks, BLOCK)
    normal = random.standard_normal(shape)
    other = random.standard_normal(shape)
    scale = 2.0 ** random.uniform(-20, 0, (blocks, 1))
    rows = np.exp(random.standard_normal((blocks, 8)).repeat(BLOCK // 8, 1))
    kinds = [
        normal,
        random.laplace(size=shape),
        random.standard_t(3, shape),
        random.standard_t(6, shape),
        normal * other,
        normal * np.exp(0.5 * other),
        normal * np.exp(other),
        normal * rows,
        normal * np.sqrt(rows),
        normal * other * random.standard_normal(shape),
        random.uniform(-1, 1, shape),
        normal + 1.5,
        normal * (0.5 + 0.5 * np.vectorize(math.erf)(normal)),
        np.square(normal) * np.square(other),
    ]
    weights = [6, 2, 1, 1, 2, 2, 2, 1, 2, 1, 1, 1, 1, 1]
    for kind, weight in zip(kinds, weights):
        take = blocks * weight // 6
        yield (kind * scale)[:take].ravel()
    # A share of exact zeros, as behind a rectifier or in rows that were not touched.
    for share in (0.01, 0.05, 0.2, 0.5, 0.8):
        yield np.where(random.uniform(size=shape) < share, 0, normal * scale)[:blocks // 4].ravel()


def synthetic_blocks(blocks):
    found = []
    for values in synthetic_values(blocks):
        found += histograms(exponents_of(values))
    # Types with few exponents: half with small weights, fp8 with a scale for each 128 values.
    for sigma in (3e-3, 3e-4, 3e-5):
        values = sigma * random.standard_normal(blocks // 3 * BLOCK)
        found += histograms(exponents_of(values, 5, 10))
    for exponent_bits, largest in ((4, 448.0), (5, 57344.0)):
        shape = (blocks // 3 * 4, 128)
        for values in (random.standard_normal(shape), random.laplace(size=shape),
                       random.standard_t(4, shape)):
            values = values * largest / np.abs(values).max(1, keepdims=True)
            found += histograms(exponents_of(values.ravel(), exponent_bits))
    return np.array(found)


# ---- tables --------------------------------------------------------------------------------------

def price(table):
    """Bits of each column of a histogram under a table."""
    above, lengths, zero, escape = table
    bits = np.full(2 * REACH + 2, escape + ESCAPE_BITS, float)
    for s in range(SYMBOLS):
        column = REACH - above + s
        if lengths[s]:
            bits[column] = lengths[s]
    if zero:
        bits[-1] = zero
    return bits


def fit_table(total):
    """The best table (above, lengths, zero, escape) for the sum of some histograms."""
    best = None
    for above in range(0, 9):
        first = REACH - above
        weights = list(total[first:first + SYMBOLS]) + [total[-1]]
        rest = total[:first].sum() + total[first + SYMBOLS:-1].sum()
        fitted = fit_code(weights, rest)
        if fitted and (best is None or fitted[0] < best[0]):
            best = (fitted[0], (above, fitted[1][:SYMBOLS], fitted[1][SYMBOLS], fitted[2]))
    return best[1]


def cluster(blocks, count, fit, price_of, rounds=25):
    order = random.permutation(len(blocks))
    groups = [blocks[order[k::count]][:1].sum(0) + 1e-3 * blocks.mean(0) for k in range(count)]
    tables = [fit(group) for group in groups]
    for _ in range(rounds):
        costs = blocks @ np.array([price_of(t) for t in tables]).T
        owner = costs.argmin(1)
        gain = costs.min(1)
        for t in range(count):
            members = blocks[owner == t]
            if len(members) < 3:  # an idle table takes over the block that fares worst
                worst = int(gain.argmax())
                gain[worst] = -1
                members = blocks[worst:worst + 1]
            tables[t] = fit(members.sum(0) + 1e-4 * blocks.mean(0))
    return tables


# ---- the low half of floats that are sums of a few bfloat16 --------------------------------------

def trailing_zeros(low):
    count = np.full(low.shape, 16)
    for bit in range(15, -1, -1):
        count = np.where((low >> bit) & 1, bit, count)
    return count


def low_histograms(words):
    zeros = trailing_zeros(words & 0xFFFF)
    blocks = zeros[:len(zeros) // BLOCK * BLOCK].reshape(-1, BLOCK)
    return [np.bincount(block, minlength=17).astype(float) for block in blocks]


def synthetic_low_blocks(blocks):
    found = []
    for terms in (2, 3, 4, 4, 6, 8, 8, 12, 16, 24, 32, 48, 64):
        for kind in range(3):
            size = (terms, blocks * BLOCK)
            values = random.standard_normal(size)
            if kind == 1:
                values = values * random.standard_normal(size)
            if kind == 2:
                values = values * np.exp(random.standard_normal((1, size[1])))
            words = values.astype(np.float32).view(np.uint32)
            narrow = (words + 0x8000 & 0xFFFF0000).view(np.float32)
            total = np.zeros(size[1], np.float32)
            for term in narrow:
                total = total + term
            found += low_histograms(total.view(np.uint32))
    return np.array(found)


def fit_low(total):
    lengths = limited_lengths(list(total + 1e-6 * total.sum()))
    return lengths


def price_low(lengths):
    return np.array([l + max(15 - z, 0) for z, l in enumerate(lengths)], float)


# ---- scoring and writing -------------------------------------------------------------------------

def read_safetensors(path):
    data = pathlib.Path(path).read_bytes()
    size = int.from_bytes(data[:8], 'little')
    header = json.loads(data[8:8 + size])
    tensors = [tensor for name, tensor in header.items() if name != '__metadata__']
    parts = [data[8 + size:][slice(*tensor['data_offsets'])] for tensor in tensors]
    return tensors[0]['dtype'], b''.join(parts)


def file_histograms(path):
    """The blocks of a file's tensors, and the data when it is of floats."""
    kind, data = read_safetensors(path)
    if kind == 'BF16':
        exponents = np.frombuffer(data, np.uint16).astype(int) >> 7 & 255
    elif kind == 'F16':
        exponents = np.frombuffer(data, np.uint16).astype(int) >> 10 & 31
    else:
        exponents = np.frombuffer(data, np.uint32).astype(int) >> 23 & 255
    words = np.frombuffer(data, np.uint32) if kind == 'F32' else None
    return np.array(histograms(exponents)), words


def own_entropy(blocks):
    return np.where(blocks > 0, -blocks * np.log2(np.maximum(blocks, 1) / BLOCK), 0).sum(1)


def score(path, tables, low_tables):
    blocks, words = file_histograms(path)
    costs = blocks @ np.array([price(t) for t in tables]).T
    print(f'{pathlib.Path(path).name}: exponent {costs.min(1).mean() / BLOCK:.3f} bits, '
          f'each block\'s own entropy {own_entropy(blocks).mean() / BLOCK:.3f}, tables used '
          f'{len(np.unique(costs.argmin(1)))}')
    if words is not None:
        low = np.array(low_histograms(words))
        cost = (low @ np.array([price_low(t) for t in low_tables]).T).min(1)
        print(f'    low half {cost.mean() / BLOCK:.3f} bits of 16')


def row(table):
    above, lengths, zero, escape = table
    return f'{{{above}, {{{", ".join(map(str, lengths))}}}, {zero}, {escape}}}'


def fit_user_tables(paths, count):
    blocks = np.concatenate([file_histograms(path)[0] for path in paths])
    tables = cluster(blocks, count, fit_table, price)
    costs = (blocks @ np.array([price(t) for t in tables]).T).min(1)
    print(f'// {len(blocks)} blocks of {", ".join(pathlib.Path(p).name for p in paths)}: '
          f'{costs.mean() / BLOCK:.3f} bits an exponent')
    for number, table in enumerate(tables):
        print(f'install_table({48 + number}, {row(table)});')


def write(path, tables, low_tables):
    lines = ['// Made by fit.py. Each row: exponents above the mean, code lengths of 14 exponents',
             '// from the top down (0: escaped), of zero (0: escaped), of the escape.',
             'constexpr ExponentCode kExponentCodes[] = {']
    lines += [f'    {row(table)},' for table in tables]
    lines += ['};', '', '// Code lengths of 0 to 16 trailing zeros in the low half of a float.',
              'constexpr LowCode kLowCodes[] = {']
    for lengths in low_tables:
        lines.append(f'    {{{{{", ".join(map(str, lengths))}}}}},')
    lines.append('};')
    pathlib.Path(path).write_text('\n'.join(lines) + '\n')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--score', nargs='*', default=[])
    parser.add_argument('--blocks', type=int, default=1200)
    parser.add_argument('--write', action='store_true')
    parser.add_argument('--fit', nargs='+', default=[])
    parser.add_argument('--tables', type=int, default=4, choices=range(1, 17), metavar='1..16')
    arguments = parser.parse_args()
    if arguments.fit:
        fit_user_tables(arguments.fit, arguments.tables)
        return
    blocks = synthetic_blocks(arguments.blocks)
    tables = cluster(blocks, TABLES, fit_table, price)
    low_tables = cluster(synthetic_low_blocks(12), LOW_TABLES, fit_low, price_low)
    costs = (blocks @ np.array([price(t) for t in tables]).T).min(1)
    print(f'{len(blocks)} synthetic blocks: {costs.mean() / BLOCK:.3f} bits, '
          f'own entropy {own_entropy(blocks).mean() / BLOCK:.3f}')
    for path in arguments.score:
        score(path, tables, low_tables)
    if arguments.write:
        write(pathlib.Path(__file__).parent / 'tables.inc', tables, low_tables)


if __name__ == '__main__':
    main()
