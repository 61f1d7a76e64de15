"""Take a picture out of the newest mail in a directory: python -m manual.picture MAILS NAME FILE.

`make picture` does it with the mail of `make demo`, so what the README shows is from a real run.
"""

import sys
from email import message_from_bytes, policy
from pathlib import Path


def picture_in(mails: Path, name: str) -> bytes:
    """The PNG of that name which the newest mail carries.

    Raises:
        FileNotFoundError: When there is no mail, or none of its pictures has that name.
    """
    newest = max(mails.glob("*.eml"), default=None)
    if newest is None:
        raise FileNotFoundError(f"no mail lies in {mails}; run `make demo` first")
    found = {}
    for part in message_from_bytes(newest.read_bytes(), policy=policy.default).walk():
        if part.get_content_type() == "image/png":
            found[str(part["Content-ID"]).strip("<>").partition("@")[0]] = part.get_content()
    if name not in found:
        raise FileNotFoundError(f"{newest} carries {sorted(found)}, and no {name}")
    return bytes(found[name])


if __name__ == "__main__":
    place, wanted, file = sys.argv[1:]
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    Path(file).write_bytes(picture_in(Path(place), wanted))
