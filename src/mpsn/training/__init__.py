"""What experiments and estimators share: the loop, captured steps, checkpoints, settings, devices.

Internal; users meet it through :mod:`mpsn.estimators` and ``mpsn reproduce``.
"""
