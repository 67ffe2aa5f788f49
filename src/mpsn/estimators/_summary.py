"""A fitted model in words."""

from typing import Any

from mpsn.estimators._tasks import SHOWN


def summary(model: Any) -> str:
    """Return a description of the data, the networks, their training and their scores."""
    head, lines = model._described()
    lines["targets"] = str(model.targets_)
    if model.histories_:
        lines |= _networks(model)
    lines |= model._after_training()
    rows = [f"  {name:<17}" + text.replace("\n", "\n" + " " * 19) for name, text in lines.items()]
    return "\n".join([head, *rows, *_scores(model)])


def _networks(model: Any) -> dict[str, str]:
    """Return what the networks are, and how they were trained."""
    runs, networks = model.histories_, list(model.model_.members)
    size = sum(p.numel() for network in networks for p in network.parameters())
    kind, shape = type(networks[0]).__name__, ""
    if model.network is None:
        kind, more = model._network_in_words()
        shape = f" {model.layers} layers of width {model.hidden}{more},"
    averaged = ", averaged" * (len(runs) > 1)
    kept = ", ".join(str(run.best + 1) for run in runs)
    best = f"best on {model.n_validation_} other {model._samples} held out each time"
    if not model.n_validation_:
        why = f"too few {model._samples}" if model.validation else "validation=0"
        best = f"the last; none held out: {why}"
    return {
        "networks": f"{len(runs)} {kind}{averaged};{shape} {size:,} parameters",
        "training": f"kept epoch {kept}, {best}",
    }


def _scores(model: Any) -> list[str]:
    """Return how good the model is on samples held out, beside simpler ones, line by line."""
    what, guess = model.targets_.metric, model.targets_.guess
    rows = [f"    {name:<15}{value:.3f}" for name, value in model.scores_.items()]
    each = [
        f"    {name:<15}{scores['this model']:.3f}, {guess} {scores[guess]:.3f}"
        for name, scores in list(model.task_scores_.items())[:SHOWN]
    ]
    first = "the first targets" if len(model.task_scores_) > SHOWN else "each target"
    rows += [f"  {what} of {first}", *each] if each else []
    head = f"  {what} on {model._samples} held out, and used {model._use_of_held()}"
    return [head, *rows] if rows else []
