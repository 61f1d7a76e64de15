"""`bench-farm init`: the files of a farm to keep, by what a command line says of it."""
