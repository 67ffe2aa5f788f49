"""Rows of integers, sums over them, and what every room needs: memory, devices, checks."""
