"""The import of a lab's past from a netbenches tree into the farm's tables."""
