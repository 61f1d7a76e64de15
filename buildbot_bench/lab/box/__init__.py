"""A lab of FreeBSD machines in QEMU, for the ssh driver: disks, links, power, consoles."""
