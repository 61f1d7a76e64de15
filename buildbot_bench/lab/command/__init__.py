"""What measures a command: settings, one contained run, its value; standard library alone."""
