"""A DUT in a virtual machine: process, wires, console, and executed instructions."""
