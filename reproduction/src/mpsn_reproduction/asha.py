"""Search with Ray Tune: asynchronous successive halving (ASHA) on validation curves."""

import os
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tqdm import tqdm

from mpsn.errors import MPSNError
from mpsn.training import pick_device
from mpsn_reproduction.cluster import RETRIES, RayEngine, connect
from mpsn_reproduction.experiment import DataSets, Job, Resources, Run
from mpsn_reproduction.perform import recorder
from mpsn_reproduction.store import Store

QUIET = {  # files of its own, its own way to end on Ctrl-C, and messages
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    "RAY_AIR_NEW_OUTPUT": "0",
}


def prune(
    rounds: Mapping[str, Sequence[Job]],
    known: Mapping[str, Sequence[float]],
    score: Callable[[Sequence[Run]], float],
    *,
    keep: int,
    engine: RayEngine,
    data: DataSets,
    device: str,
    store: Store,
) -> None:
    """Train each setting as long as it is among the best; record every round that it completes.

    A setting trains once and reports its score after each round. Ray Tune stops it unless its score
    is among the best ``1 / keep`` of those that came so far. The jobs of lost workers run again.

    Args:
        rounds: Jobs of each setting by name, which differ in their numbers of epochs only.
        known: Scores of the first rounds, as far as they are recorded.
        score: From the runs of a round to its score; the larger the better.
        keep: One in ``keep`` settings advances to the next round.
        engine: The cluster.
        data: Data sets.
        device: Device to compute on.
        store: Where to record.
    """
    gpus = engine.gpus_of(device)
    connect(engine.address)
    os.environ.update(QUIET)
    from ray import tune

    errors: list[Exception] = []

    class Stop(tune.Stopper):
        def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
            return False

        def stop_all(self) -> bool:
            return bool(errors)

        __reduce__ = _not_saved

    class Write(tune.Callback):
        def on_trial_result(
            self, iteration: int, trials: Any, trial: Any, result: dict[str, Any], **_: Any
        ) -> None:
            try:
                if error := result.get("error"):
                    raise error
                record = result.get("record")
                if record and not store.path(record.job).exists():
                    store.write(record)
            except Exception as error:
                errors.append(error)

        def on_trial_complete(self, iteration: int, trials: Any, trial: Any, **_: Any) -> None:
            bar.update()

        __reduce__ = _not_saved

    first = next(iter(rounds.values()))
    longest = keep ** (len(first) - 1)
    work = tune.with_parameters(
        _train,
        experiment=data.experiment,
        data=data.of(first[0]),
        gpu=gpus > 0,
        rounds=rounds,
        known=known,
        score=score,
        keep=keep,
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        tqdm(total=len(rounds), desc="tune", unit="setting", disable=None) as bar,
    ):
        found = tune.Tuner(
            tune.with_resources(work, {"cpu": 1, "gpu": gpus}),
            param_space={"name": tune.grid_search(list(rounds))},
            tune_config=tune.TuneConfig(
                scheduler=tune.schedulers.ASHAScheduler(
                    "time", "score", "max", max_t=longest, grace_period=1, reduction_factor=keep
                ),
                reuse_actors=True,
            ),
            run_config=tune.RunConfig(
                storage_path=folder,
                stop=Stop(),
                callbacks=[Write()],
                failure_config=tune.FailureConfig(max_failures=RETRIES),
                verbose=0,
            ),
        ).fit()
    if errors:
        raise errors[0]
    if found.errors:
        raise MPSNError(
            f"Expected all trainings to succeed, got a worker lost {RETRIES + 1} times; finished "
            "rounds are recorded, run the same command again."
        )


def _not_saved(_: object) -> tuple[type, tuple[()]]:
    """Leave it out of what Ray Tune saves to restore a search: our records are for that."""
    return object, ()


def _train(
    point: dict[str, str],
    *,
    experiment: Any,
    data: Any,
    gpu: bool,
    rounds: Mapping[str, Sequence[Job]],
    known: Mapping[str, Sequence[float]],
    score: Callable[[Sequence[Run]], float],
    keep: int,
) -> None:
    """Report recorded rounds at once, and train for the others; runs on a worker."""
    from ray import tune

    name = point["name"]
    jobs = list(rounds[name])
    # ASHA compares at the times 1, keep, keep², ...: round i has the time keep^i.
    for i, value in enumerate(known[name]):
        tune.report({"time": keep**i, "score": value})
    left = list(enumerate(jobs))[len(known[name]) :]
    if not left:
        return
    try:
        where = pick_device("cuda" if gpu else "cpu")
        record = recorder(where)

        def report(runs: list[Run]) -> None:
            i, job = left.pop(0)
            tune.report({"time": keep**i, "score": score(runs), "record": record(job, runs)})

        pauses = tuple(job.config.train.epochs for _, job in left[:-1])
        resources = Resources(where, data, lambda steps: None, pauses, report)
        report(experiment.work(jobs[-1], resources))
    except Exception as error:
        error.add_note(traceback.format_exc())
        tune.report({"time": 1, "score": 0.0, "error": error})
