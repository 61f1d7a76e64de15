"""The health of a testbed: control charts, recovery, and broken workloads."""
