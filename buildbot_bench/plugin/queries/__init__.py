"""What is known: views of the tables and the mirror, in the words of the core and of people."""
