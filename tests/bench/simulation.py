# SPDX-License-Identifier: Apache-2.0
"""Staging on up to 10,000 nodes, in virtual time: see sim_stage.c."""
import subprocess

from measure import TOOLS, results


def simulation():
    print("\nsimulation: plan and exchange of whole jobs, no byte moved")
    lines = []
    with subprocess.Popen(
        [f"{TOOLS}/sim_stage"], stdout=subprocess.PIPE, text=True
    ) as program:
        for line in program.stdout:
            print("  " + line.rstrip(), flush=True)
            lines.append(line.split())
    if program.returncode:
        raise SystemExit("bench: the simulation failed")
    results["simulation"] = lines


BENCHES = {"simulation": simulation}
