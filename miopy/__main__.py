"""`python -m miopy COMMAND`: see USAGE."""

from __future__ import annotations

import importlib
import sys

from . import __version__, carried
from .errors import MiopyError

USAGE = """\
usage: python -m miopy COMMAND [options]
       python -m miopy --version

  demo       train a character model through the MIOpen API; --help lists its options
  selftest   compare every kind of RNN with float64 arithmetic on this machine
  info       print versions, settings, backends and why one is missing
  weights    convert weights between MIOpen, cuDNN, torch and others; describe a layout
"""


def demo(arguments: list[str]) -> int:
    sys.path.insert(0, str(carried("examples")))
    char_rnn = importlib.import_module("char_rnn")
    return char_rnn.main(arguments)


def selftest(arguments: list[str]) -> int:
    from . import selftest

    return selftest.main(arguments)


def info(arguments: list[str]) -> int:
    from . import info

    return info.main(arguments)


def weights(arguments: list[str]) -> int:
    from .weights import command

    return command.main(arguments)


COMMANDS = {command.__name__: command for command in (demo, selftest, info, weights)}


def main(arguments: list[str]) -> int:
    """Run one command and return its exit code; 2 if there is no such command, 1 if it fails."""
    name = arguments[0] if arguments else ""
    if name in ("-h", "--help"):
        print(USAGE, end="")
        return 0
    if name == "--version":
        print(__version__)
        return 0
    if name not in COMMANDS:
        got = f"unknown command {name!r}" if name else "a command is needed"
        print(f"miopy: {got}\n\n{USAGE}", end="", file=sys.stderr)
        return 2
    try:
        return COMMANDS[name](arguments[1:])
    except MiopyError as error:
        print(f"miopy {name}: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
