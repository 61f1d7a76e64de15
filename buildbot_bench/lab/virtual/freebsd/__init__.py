"""FreeBSD in a virtual machine without a disk: archive, loader, root, commands."""
