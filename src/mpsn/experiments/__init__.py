"""Experiments: each table and figure of the paper, one file an experiment."""
