"""Incidents of a branch: broken kernels and workloads, steps that series share, and their ends."""
