"""`make fuzz`: every parser of hostile input, tried until its time is over.

An input may be refused by an error of `core.errors`, and by nothing else; it takes little time.
"""
