"""Ports of this machine for the servers of tests."""

import socket
import sys


def free_port() -> int:
    """A port that nothing listens on, and that nobody else is given while this process lives.

    It stays bound here, without listening. Linux lets who says SO_REUSEADDR, as servers do, listen
    there all the same, time and again; but it gives the port neither to who asks for any port nor
    to an outgoing connection, which might else have it when a farm's master starts again.
    """
    holder = socket.socket()
    if sys.platform == "linux":
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    port = int(holder.getsockname()[1])
    if sys.platform == "linux":
        holder.detach()  # bound until this process ends
    else:
        holder.close()  # elsewhere nobody could listen there
    return port
