"""FreeBSD in a virtual machine without a disk: its archive, its loader, its root, its commands."""
