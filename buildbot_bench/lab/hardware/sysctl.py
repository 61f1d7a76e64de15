"""Kernel variables of a FreeBSD host, several read by one command."""

from __future__ import annotations

from buildbot_bench.lab.hardware.remote import Remote

# A kernel that panics is to reboot: in its debugger it would wait for a person. What a person wants
# otherwise is a tunable, which comes later and goes before. Source: sys/kern/kern_shutdown.c.
NO_DEBUGGER = "debug.debugger_on_panic=0"
_SCRIPT = 'for name in "$@"; do sysctl -n "$name" 2>/dev/null; printf "\\036"; done'
_SEPARATOR = "\x1e"


def read_sysctls(
    remote: Remote, *names: str, deadline_s: float | None = None, shared: bool = True
) -> dict[str, str]:
    """Each variable's text; empty for one that the host does not have."""
    command = ("sh", "-c", _SCRIPT, "sysctls", *names)
    answer = remote.run(*command, deadline_s=deadline_s, shared=shared)
    texts = answer.stdout.split(_SEPARATOR)
    return {name: text.strip() for name, text in zip(names, texts, strict=False)}
