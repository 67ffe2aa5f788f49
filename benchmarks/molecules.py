"""CINConv on molecules against lists of pairs, on the CPU or a GPU.

Run ``python benchmarks/molecules.py [--device cuda] [--file rings.npz] [results.json]``: forward
and backward, width 64, as ratios in one run. The molecules are generated, fused rings with trees of
20 to 30 atoms, unless a file that ``ComplexDataset.save`` wrote is given.
"""

import argparse
import json
import random
from pathlib import Path

import torch
from pair_lists import contest
from side_by_side import best

import mpsn

GOALS = {"cpu": 3.0, "cuda": 5.0}


def molecule(rng):
    """Return bonds and rings, as lists of bonds, of a random molecule: rings first, then trees."""
    bonds, rings, atoms, size = {}, [], 0, rng.randint(20, 30)

    def bond(u, v):
        return bonds.setdefault((min(u, v), max(u, v)), len(bonds))

    for _ in range(rng.choice([1, 2, 2, 3, 3, 4])):
        length = rng.choice([5, 6, 6, 6, 6, 7, 3])
        shared = []
        if rings and rng.random() < 0.4:  # fused along a bond of the last ring that is in no other
            free = [b for b in rings[-1] if sum(b in ring for ring in rings) == 1]
            shared = list(list(bonds)[rng.choice(free)])
        new = list(range(atoms, atoms + length - len(shared)))
        if atoms and not shared:
            bond(rng.randrange(atoms), new[0])
        cycle = shared + new
        rings.append([bond(u, v) for u, v in zip(cycle, cycle[1:] + cycle[:1], strict=True)])
        atoms += len(new)
    for atom in range(atoms, max(atoms, size)):
        bond(rng.randrange(atom), atom)
    return max(atoms, size), list(bonds), rings


def molecules(number, seed=0):
    """Return a union of molecules with their rings as 2-cells."""
    rng = random.Random(seed)
    n, bonds, rings = 0, [], []
    for _ in range(number):
        atoms, new_bonds, new_rings = molecule(rng)
        rings += [[len(bonds) + b for b in ring] for ring in new_rings]
        bonds += [[n + u, n + v] for u, v in new_bonds]
        n += atoms
    return mpsn.CellComplex.from_boundaries(n, [bonds, rings])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--file", type=Path)
    parser.add_argument("--molecules", type=int, nargs="+", default=[128, 1000])
    parser.add_argument("out", nargs="?", type=Path)
    given = parser.parse_args()
    gpu = given.device != "cpu"
    if gpu:
        from gpu_complexes import milliseconds
    else:
        torch.set_num_threads(1)
    rows = []
    for number in given.molecules:
        if given.file:
            data = mpsn.ComplexDataset.load(given.file)
            K = data.batch(range(min(number, len(data)))).bare()
        else:
            K = molecules(number)
        print(f"{number} molecules, {K}, width 64, {given.device}, torch {torch.__version__}")
        for task, who in contest(K.to(given.device), width=64, device=given.device).items():
            for name, run in who.items():
                run()
                ms = milliseconds(run) if gpu else 1e3 * best(run, 9)
                first = next(
                    (r["ms"] for r in rows if (r["molecules"], r["task"]) == (number, task)), ms
                )
                rows.append(
                    {"molecules": number, "task": task, "who": name, "ms": ms, "faster": first / ms}
                )
                print(f"{task:18} {name:14} {ms:8.2f} ms {first / ms:6.2f} x")
    if given.out:
        given.out.write_text(json.dumps({"device": given.device, "rows": rows}))


if __name__ == "__main__":
    main()
