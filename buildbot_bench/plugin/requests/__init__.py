"""What people ask of the farm, carried out by the broker; it speaks no HTTP."""
