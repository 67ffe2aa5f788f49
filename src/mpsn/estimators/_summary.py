"""A fitted model of graphs in words."""

from typing import Any

from mpsn.estimators._tasks import SHOWN


def summary(model: Any) -> str:
    """Return a description of the data, the network and its training."""
    counts = ", ".join(f"{n:,} of dimension {k}" for k, n in enumerate(model.counts_))
    held, runs = model.n_validation_, model.histories_
    cliques = f"cliques of up to {model.max_dim + 1} vertices"
    rings = f"rings of up to {model.max_ring} vertices"
    lifts = {"cliques": cliques, "rings": rings, "cliques+rings": f"{cliques}, {rings}"}
    lines = [
        f"{type(model).__name__}, fitted to {model.n_graphs_} graphs",
        f"  cells            {counts} ({lifts.get(str(model.lift), model.lift)})",
        *(
            f"  {name:<17}" + text.replace("\n", "\n" + " " * 19)
            for name, text in model.features_.describe().items()
        ),
        f"  targets          {model.targets_}",
    ]
    if runs:
        size = sum(p.numel() for p in model.model_.parameters())
        lines.append(
            f"  networks         {len(runs)} {'SIN' if model.lift == 'cliques' else 'CIN'}"
            f"{', averaged' * (len(runs) > 1)}; {model.layers} layers of width {model.hidden}, "
            f"{model.readout} over cells, {size:,} parameters"
        )
        kept = ", ".join(str(run.best + 1) for run in runs)
        why = "too few graphs" if model.validation else "validation=0"
        best = (
            f"best on {held} other graphs held out each time"
            if held
            else (f"the last; none held out: {why}")
        )
        lines.append(f"  training         kept epoch {kept}, {best}")
    if model.kernel is not False:
        chosen = ", by the loss on graphs held out" if runs and held else ""
        lines.append(f"  SWL kernel       {model.model_.share:.0%} of the output{chosen}")
    lines += _report(model)
    return "\n".join(lines)


def _report(model: Any) -> list[str]:
    """Return how good the model is on graphs held out, beside simpler ones, line by line."""
    what, guess = model.targets_.metric, model.targets_.guess
    rows = [f"    {name:<15}{value:.3f}" for name, value in model.scores_.items()]
    used = "to stop and to mix" if model.kernel is None else "to choose its penalty"
    used = "to stop" if model.kernel is False else used
    each = [
        f"    {name:<15}{found['this model']:.3f}, {guess} {found[guess]:.3f}"
        for name, found in list(model.task_scores_.items())[:SHOWN]
    ]
    first = "the first targets" if len(model.task_scores_) > SHOWN else "each target"
    rows += [f"  {what} of {first}", *each] if each else []
    return [f"  {what} on graphs held out, and used {used}", *rows] if rows else []
