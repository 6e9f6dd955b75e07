#!/usr/bin/env python3
"""Reads a result file of nccl-tests (version 3) by the keys those programs write, and nothing more.

usage: read_results.py FILE.json        prints a table; exits 1 when the file is not such a file
"""
import json
import sys

SIDES = ("out_of_place", "in_place")


def overview(data):
    config = data["config"]
    steps = config["step_factor"] if "step_factor" in config else config["step_bytes"]
    print(f"{' '.join(data['args'])}: version {data['version']}, {config['iterations']} iterations "
          f"of {config['aggregated_iterations']}, sizes {config['minimum_bytes']} to "
          f"{config['maximum_bytes']} by {steps}, nccl {data['nccl_version']}")
    for flag in ("blocking_collectives", "per_iter_timing", "parallel_init"):
        if config[flag] not in ("true", "false"):
            raise ValueError(f"{flag} is {config[flag]!r}")
    for number in ("nthreads", "ngpus", "warmup_iters", "validation", "graph"):
        int(config[number])
    for device in config["devices"]:
        print(f"rank {device['rank']} group {device['group']} pid {device['pid']} on "
              f"{device['hostname']} device {device['device']} {device['device_info']}")


def row(result):
    words = [str(result[key]) for key in ("size", "count", "type", "redop")]
    words.append(str(int(result["root"])))
    for side in SIDES:
        values = result[side]
        time = values["time"] if "time" in values else values["cpu_time"]
        wrong = "N/A" if values["nwrong"] is None else f"{values['nwrong']:g}"
        words += [f"{time:.2f}", f"{values['alg_bw']:.2f}", f"{values['bus_bw']:.2f}", wrong]
    print(" ".join(words))


def iterations(result):
    """Whether each iteration's time is that of its slowest process."""
    for side in SIDES:
        block = result.get(f"{side}_per_iter")
        if block is None:
            continue
        if len(block["times_us"]) != result["actual_iterations"]:
            raise ValueError("another number of iterations than was run")
        slowest = [max(times) for times in zip(*block["per_process_max_times_us"])]
        if any(abs(a - b) >= 0.001 for a, b in zip(block["times_us"], slowest)):
            raise ValueError("an iteration is not as long as its slowest process")
        if not block["min_us"] <= block["p50_us"] <= block["p95_us"] <= block["p99_us"]:
            raise ValueError("percentiles out of order")
        print(f"{side}: avg {block['avg_us']:.1f} max {block['max_us']:.1f} stdev "
              f"{block['stdev_us']:.1f} cv {block['cv_pct']:.1f}%")


def main(arguments):
    if len(arguments) != 2:
        print(__doc__.strip())
        return 2
    with open(arguments[1], encoding="utf-8") as file:
        data = json.load(file)
    overview(data)
    for result in data["results"]:
        row(result)
        iterations(result)
    verdict, bandwidth = data["out_of_bounds"], data["average_bus_bandwidth"]
    print(f"out of bounds {verdict['count']} {verdict['okay']}, average {bandwidth['bandwidth']:g} "
          f"{bandwidth['okay']}, {len(data['errors'])} errors, {data['start_time']} to "
          f"{data['end_time']}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
