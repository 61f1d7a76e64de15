"""A lab's past from a netbenches tree: read, held against itself, and kept in the farm's tables."""
