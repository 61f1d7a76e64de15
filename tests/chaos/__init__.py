"""`make chaos`: strike a farm at work with faults and check that its invariants hold."""
