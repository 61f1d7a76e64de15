"""What the product does with a FreeBSD source tree that the user has; no tree comes with it."""
