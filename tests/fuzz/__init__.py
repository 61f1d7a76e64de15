"""`make fuzz`: try every parser of hostile input for a given time.

An input may be refused by an error of `core.errors`, and by nothing else; it takes little time.
"""
