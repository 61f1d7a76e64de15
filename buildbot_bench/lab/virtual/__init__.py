"""A DUT that is a virtual machine: its process, its wires, its console, and what it executed."""
