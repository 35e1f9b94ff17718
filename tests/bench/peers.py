# SPDX-License-Identifier: Apache-2.0
"""Nodes that read from each other, in virtual time: see sim_peers.c."""
import subprocess

from measure import TOOLS, results


def peers():
    print("\npeers: jobs whose nodes read from each other, no byte moved")
    lines = []
    with subprocess.Popen(
        [f"{TOOLS}/sim_peers"], stdout=subprocess.PIPE, text=True
    ) as program:
        for line in program.stdout:
            print("  " + line.rstrip(), flush=True)
            lines.append(line.split())
    if program.returncode:
        raise SystemExit("bench: the simulation of peers failed")
    results["peers"] = lines


BENCHES = {"peers": peers}
