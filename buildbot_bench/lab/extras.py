"""The libraries that only labs need which search rates without loss, or time packets."""

from importlib import import_module
from types import ModuleType

from buildbot_bench.core.errors import InfraError
from buildbot_bench.lab.driver import CheckFinding


def need_library(package: str, module: str) -> ModuleType:
    """The module of a package that is installed by choice; InfraError where it is not."""
    try:
        return import_module(module)
    except ImportError as error:
        raise InfraError(
            f"{package} is not installed here, which a workload with loss or latency takes",
            hint=f"pip install 'buildbot-bench[loss]', or {package}, for the lab worker's Python",
        ) from error


def library_finding(package: str, module: str) -> CheckFinding:
    """Whether a lab has a package that its workloads take."""
    try:
        need_library(package, module)
    except InfraError as error:
        return CheckFinding(subject=package, detail=error.message, remedy=error.hint)
    return CheckFinding(subject=package, detail="is installed")
