"""A driver whose boots go as a test says, and which records its calls."""

from collections.abc import Sequence
from pathlib import Path

from buildbot_bench.core.errors import BenchError, UntestableRevision
from buildbot_bench.core.profile.model import Profile
from buildbot_bench.lab.driver import Blast, CheckFinding
from buildbot_bench.lab.files import check_digest

KERNEL = "a kernel\n"


class FakeDriver:
    """`boots` has what each boot gives: a value in pps, or what it raises and at which verb.

    A boot beyond the last one gives the last one's again. `captures` are given in turn.
    """

    def __init__(
        self,
        boots: Sequence[float | tuple[str, BenchError]] = (1000.0,),
        captures: Sequence[Profile] = (),
    ) -> None:
        self._boots = list(boots)
        self._captures = list(captures)
        self._boot: float | tuple[str, BenchError] = self._boots[0]
        self.verbs: list[str] = []

    def workloads(self) -> tuple[str, ...]:
        return ("forwarding",)

    def check(self) -> list[CheckFinding]:
        return [CheckFinding(subject="fake", detail="as it should be")]

    def facts(self) -> dict[str, str]:
        return {"dut": "fake"}

    def prepare(self, workload: str) -> None:
        self.verbs.append(f"prepare {workload}")

    def install(self, artefact: Path, digest: str) -> None:
        self.verbs.append("install")
        check_digest(artefact, digest)
        if artefact.read_bytes() != KERNEL.encode():
            raise UntestableRevision("no kernel")

    def tune(self, tunables: Sequence[str]) -> None:
        self.verbs.append(f"tune {' '.join(tunables)}")

    def boot(self) -> None:
        self._boot = self._boots.pop(0) if len(self._boots) > 1 else self._boots[0]
        self._do("boot")

    def verify(self) -> None:
        self._do("verify")

    def blast(self, workload: str) -> Blast:
        self._do("blast")
        assert isinstance(self._boot, float)
        return Blast(values={"pps": self._boot}, log=f"{self._boot} pps of {workload}\n")

    def counter(self) -> str:
        return "cycles"

    def capture(self, workload: str) -> Profile:
        self._do("capture")
        return self._captures.pop(0)

    def console(self) -> str:
        return "login:"

    def shutdown(self) -> None:
        self.verbs.append("shutdown")

    def _do(self, verb: str) -> None:
        self.verbs.append(verb)
        match self._boot:
            case (place, fault) if place == verb:
                raise fault
