"""How things are compared: in one run, one thread, best of several, as ratios."""

import pytest
import torch
from side_by_side import best

torch.set_num_threads(1)


@pytest.fixture
def faster(benchmark, capsys):
    """Time ours against others, or seconds known for them; the ratio must reach the goal."""

    def compare(ours, others, goal, rounds=5, others_rounds=3):
        ours()  # compiled, warm
        benchmark.pedantic(ours, rounds=rounds)
        mine = benchmark.stats.stats.min
        ratios = {
            name: (other if isinstance(other, float) else best(other, others_rounds)) / mine
            for name, other in others.items()
        }
        benchmark.extra_info.update(ratios)
        with capsys.disabled():
            for name, ratio in ratios.items():
                said = f"{benchmark.name}: {mine * 1e3:.1f} ms, {ratio:.1f} x as fast as {name}"
                print(f"\n{said} (goal {goal})", end="")
        assert min(ratios.values()) >= goal

    return compare
