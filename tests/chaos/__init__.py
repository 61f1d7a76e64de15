"""`make chaos`: a farm at work, to which all that can go wrong does, and whether it stays whole."""
