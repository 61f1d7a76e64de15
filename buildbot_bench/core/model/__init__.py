"""The noise model of a testbed and workload, learnt from history."""
