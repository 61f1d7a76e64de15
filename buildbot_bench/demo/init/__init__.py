"""`bench-farm init`: write the files of a farm to keep."""
