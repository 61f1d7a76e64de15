"""A workload's configuration set on its machines: put on whole, noted in a ledger, taken off."""

import json
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.json_model import from_json
from buildbot_bench.core.legible import quoted
from buildbot_bench.lab.files import replace_text
from buildbot_bench.lab.hardware.install import writable
from buildbot_bench.lab.hardware.remote import Reach, Remote
from buildbot_bench.lab.hardware.settings import Limits, SshSettings

_HEAD = 'set -e; umask 022; root=$1; record=$2; shift 2; cd "$root"\n'
# What an image brings, `renewed`, is not undone: another one lies there by now.
_UNDO = r"""
renewed=$1
[ -d "$record" ] || exit 0
back() {
    while IFS= read -r file; do
        case $renewed:$file in boot:./boot/*) continue ;; esac
        echo "$file"
    done
}
back <"$record/files" | while IFS= read -r file; do rm -f "$file"; done
back <"$record/replaced" >"$record/back"
if [ -s "$record/back" ]; then tar -xpf "$record/before.tar" -T "$record/back"; fi
"""
_FORGET = 'rm -rf "$record" "$record.new"\n'
_RECORD = r"""
: >"$record.new/replaced"
while IFS= read -r file; do
    if [ -d "$file" ] && [ ! -L "$file" ]; then
        echo "$file is a directory there, and a file in the set" >&2
        exit 1
    fi
    if [ -e "$file" ] || [ -L "$file" ]; then echo "$file" >>"$record.new/replaced"; fi
done <"$record.new/files"
if [ -s "$record.new/replaced" ]; then
    tar -cf "$record.new/before.tar" -T "$record.new/replaced"
fi
mv "$record.new" "$record"
sync
"""
# tar(1) is given no directory: as root it would give one that is there the lab controller's mode.
_PUT_ON = r"""
while IFS= read -r directory; do mkdir -p "$directory"; done <"$record/directories"
tar -xzf "$record/set.tgz"
rm -f "$record/set.tgz"
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfiguredMachine:
    """A machine that takes configuration sets; `root` is where its file system begins.

    `record` is the directory below it that says what is on; what is put there must outlive a
    reboot. With `renews_boot` what lies in boot/ is never taken off.
    """

    remote: Remote
    limits: Limits
    root: str
    record: str
    renews_boot: bool = False

    @property
    def has_a_set(self) -> bool:
        """Whether a set is on, or was being put on or taken off when a job died."""
        command = ("sh", "-c", '[ -d "$0" ] || [ -d "$0.new" ]', self._path)
        return self.remote.run(*command).status == 0

    def take_off(self) -> None:
        """Undo what is on; it stays written down until `forget`, and may be undone again."""
        self._script(_UNDO, "boot" if self.renews_boot else "nothing")

    def forget(self) -> None:
        """Let nothing be on any more: what was undone will outlive a reboot."""
        self._script(_FORGET)

    def put_on(self, configs: Path, scratch: Path) -> None:
        """Copy a set verbatim over the root; InfraError for one that does not fit there.

        Nothing else may be on.
        """
        packed, files, directories = _pack(configs, scratch)
        new = f"{self._path}.new"
        self.remote.need("rm", "-rf", new)
        self.remote.need("mkdir", "-p", "-m", "700", new)  # what it replaces may be secret
        for name, lines in (("files", files), ("directories", directories)):
            listing = scratch / f"configs.{name}"
            listing.write_text("".join(f"./{line}\n" for line in lines), encoding="utf-8")
            self.remote.upload(listing, f"{new}/{name}")
        self.remote.upload(packed, f"{new}/set.tgz")
        self._script(_RECORD)
        self._script(_PUT_ON)

    @property
    def _path(self) -> str:
        return f"{self.root.rstrip('/')}/{self.record}"

    def _script(self, text: str, *more: str) -> None:
        words = (self.root, self.record, *more)
        self.remote.script(_HEAD + text, *words, deadline_s=self.limits.transfer_s)


def _pack(configs: Path, scratch: Path) -> tuple[Path, Sequence[str], Sequence[str]]:
    """The set as an archive of files, their names, and the directories that hold nothing."""
    if not configs.is_dir():
        raise InfraError(f"there is no configuration set {configs}", hint="see its key configs")
    scratch.mkdir(parents=True, exist_ok=True)
    packed = scratch / "configs.tgz"
    files, directories = list[str](), list[str]()
    with tarfile.open(packed, "w:gz") as archive:
        for path in _below(configs):
            name = str(path.relative_to(configs))
            if not name.isprintable():
                raise InfraError(
                    f"{configs}: {quoted(name)} is no name for a file", hint="rename it"
                )
            if path.is_dir() and not path.is_symlink():
                directories.append(name)
                continue
            files.append(name)
            archive.add(path, arcname=name, recursive=False, filter=_owned_by_root)
    return packed, files, directories


def _below(directory: Path) -> Iterator[Path]:
    """All files below a directory, and the directories that hold nothing."""
    for path in sorted(directory.rglob("*")):
        if path.is_symlink() or not path.is_dir() or not any(path.iterdir()):
            yield path


def _owned_by_root(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname, info.gname = "root", "wheel"
    return info


# A set is a directory that is copied over the DUT's root. One that concerns two machines, as that
# of a tunnel, holds `dut/` and `reference/` instead; bench-lab.sh calls the latter
# `refendpoint/`.
DUT_PART = "dut"
REFERENCE_PARTS = ("reference", "refendpoint")  # ours, and that of bench-lab.sh's VPN sets


@dataclass(frozen=True, kw_only=True, slots=True)
class SetParts:
    """What is copied over the root of the DUT, and of the reference endpoint; None for nothing."""

    dut: Path | None = None
    reference: Path | None = None


def parts_of(configs: Path | None) -> SetParts:
    """The parts of a set: the whole of it for the DUT unless it has a part for each."""
    if configs is None:
        return SetParts()
    theirs = [configs / name for name in REFERENCE_PARTS if (configs / name).is_dir()]
    own = configs / DUT_PART
    if not theirs and not own.is_dir():
        return SetParts(dut=configs)
    return SetParts(
        dut=own if own.is_dir() else None,
        reference=theirs[0] if theirs else None,
    )


def is_empty(configs: Path) -> bool:
    """Whether a set holds no file for any machine."""
    parts = parts_of(configs)
    return not any(
        path.is_symlink() or not path.is_dir()
        for part in (parts.dut, parts.reference)
        if part is not None
        for path in part.rglob("*")
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class LyingSet:
    """A set that lies on a machine, or was being put on when a job died, and how it is taken off.

    `root` and `record` are those of its ConfiguredMachine; `saving` is the command that keeps what
    is changed over a reboot of a nanobsd.
    """

    workload: str
    root: str
    record: str
    nanobsd: bool = False
    saving: tuple[str, ...] = ()


class Ledger:
    """A file with the machines' addresses and what lies there."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def lying(self) -> Mapping[str, LyingSet]:
        """What lies on each machine; nothing where the file cannot be understood.

        The records on the machines themselves are what a set is taken off by.
        """
        try:
            rows = json.loads(self._path.read_text(encoding="utf-8"))
            return {address: from_json(LyingSet, row) for address, row in rows.items()}
        except (OSError, ValueError, AttributeError):
            return {}

    def note(self, address: str, lying: LyingSet) -> None:
        """Remember that a set is about to be put on; it replaces what was remembered."""
        self._write({**self.lying(), address: lying})

    def forget(self, address: str) -> None:
        """Nothing lies there any more."""
        known = self.lying()
        if address in known:
            self._write({name: lying for name, lying in known.items() if name != address})

    def _write(self, all_lying: Mapping[str, LyingSet]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        rows = {address: asdict(lying) for address, lying in all_lying.items()}
        replace_text(self._path, json.dumps(rows, indent=1))


# boot/ is on the disk at once; etc/ of nanobsd is in memory, and kept for both its slices.
_RECORD_PATH = "boot/bench-set"
_RECORD_OF_SLICES = "etc/bench-set"


@dataclass(frozen=True, kw_only=True, slots=True)
class Configurator:
    """Puts sets on the machines of a testbed; `ledger` remembers what lies where."""

    settings: SshSettings
    reach: Reach
    ledger: Ledger

    def configure(self, workload: str, scratch: Path) -> bool:
        """Have the workload's configuration set on, or none if it has none.

        A set may have a part for the reference endpoint as well. Returns whether that part changed,
        so that the reference endpoint has to be rebooted. InfraError when a set cannot be put on or
        taken off.
        """
        self._clear_strangers()
        parts = parts_of(self.settings.workloads[workload].configs)
        changed = False
        if self.settings.reference is not None:
            address = self.settings.reference.address
            lying = LyingSet(
                workload=workload, root=self.settings.reference.root, record=_RECORD_PATH
            )
            changed = self._replace(address, lying, parts.reference, scratch)
        self._replace(self.settings.dut.address, self._on_dut(workload), parts.dut, scratch)
        return changed

    def unconfigure(self) -> None:
        """Have no configuration set on the DUT."""
        self._replace(self.settings.dut.address, self._on_dut(""), None, Path())

    def _clear_strangers(self) -> None:
        """Take sets off the machines that belonged to the testbed once."""
        reference = self.settings.reference
        own = {self.settings.dut.address, reference.address if reference else ""}
        for address, lying in self.ledger.lying().items():
            if address in own:
                continue
            try:
                self._replace(address, lying, None, Path())
            except InfraError as error:
                raise InfraError(
                    f"the set of {lying.workload} still lies on {address}, which the testbed no"
                    f" longer names: {error.message}",
                    hint=f"have it answer, or remove {address} from the lab's sets.json",
                ) from error

    def _on_dut(self, workload: str) -> LyingSet:
        dut = self.settings.dut
        return LyingSet(
            workload=workload,
            root=dut.root,
            record=_RECORD_PATH if dut.slices is None else _RECORD_OF_SLICES,
            nanobsd=dut.is_nanobsd,
            saving=dut.saving,
        )

    def _replace(self, address: str, new: LyingSet, configs: Path | None, scratch: Path) -> bool:
        """Each step is kept over a reboot before the next: a job may die between any two.

        Returns whether anything changed.
        """
        machine = ConfiguredMachine(
            remote=self.reach(address),
            limits=self.settings.limits,
            root=new.root,
            record=new.record,
            renews_boot=new.record == _RECORD_OF_SLICES,
        )
        has_one = machine.has_a_set
        if has_one:
            with writable(machine.remote, nanobsd=new.nanobsd):
                machine.take_off()
            if new.saving:
                machine.remote.need(*new.saving)
            with writable(machine.remote, nanobsd=new.nanobsd):
                machine.forget()
        if configs is None:
            self.ledger.forget(address)
            return has_one
        self.ledger.note(address, new)
        with writable(machine.remote, nanobsd=new.nanobsd):
            machine.put_on(configs, scratch)
        if new.saving:
            machine.remote.need(*new.saving)
        return True
