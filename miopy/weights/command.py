"""`python -m miopy weights convert` and `describe`."""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..core.cells import CELLS
from ..core.config import BIASES, CONCAT, Clip, RNNConfig
from ..errors import BadParam, MiopyError
from . import description, files
from .conversion import convert, unpack
from .formats import FORMATS
from .parameters import Arrays
from .recognition import recognise

DESCRIPTION = f"""\
Carry the weights of an RNN from one layout to another, or show where everything is in one.

formats: {", ".join(FORMATS)}
files:   {" or ".join(files.SUFFIXES)}; those that miopy wrote say what is in them, of others
         --from must be told and, for a flat buffer, the sizes
torch:   safetensors.torch.save_file(state_dict, path) writes such a file
"""
SUFFIXES = " or ".join(files.SUFFIXES)
# An error names the argument as the caller spells it.
OPTIONS = {name: "--" + name.replace("_", "-") for name in files.FIELDS}
OPTIONS |= {"format": "--from", "dtype": "dtype of IN", "arrays": "arrays of IN"}
OPTIONS |= {"attributes": "--attribute", "direction": "--bidirectional"}
PATHS = {"source": "IN", "target": "OUT", "picture": "--picture"}


def main(arguments: list[str]) -> int:
    """Run a subcommand; 0 if all went well, 1 where no file is to blame, such as a full disk, 2 for
    bad options.

    Raises MiopyError for what is refused, files that cannot be used included.
    """
    options = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], None] = options.run
    try:
        run(options)
    except OSError as error:
        if error.filename is None:
            print(f"miopy weights: {error}", file=sys.stderr)
            return 1
        path = str(error.filename).removesuffix(files.PARTIAL)
        unusable = BadParam("path", f"cannot be used: {error.strerror}", path)
        _spell(unusable, options)
        raise unusable from error
    except MiopyError as error:
        _spell(error, options)
        raise
    return 0


def _spell(error: MiopyError, options: argparse.Namespace) -> None:
    """Name arguments as they are named in a shell."""
    error.argument = OPTIONS.get(error.argument, error.argument)
    if error.argument == "path":
        given = ((getattr(options, key, None), name) for key, name in PATHS.items())
        path = Path(str(error.value))  # which lacks the ./ that was given
        error.argument = next((name for each, name in given if each and Path(each) == path), "path")
    if error.argument == "--bias" and getattr(options, "to_bias", None):
        error.argument = "--to-bias"
    if isinstance(error.value, Clip):
        error.value = options.clip
    error.rule = error.rule.replace("sum_biases", "--sum-biases")
    error.rule = error.rule.replace("keep those", "--prefix keeps those")


def _parser() -> argparse.ArgumentParser:
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "miopy weights", description=DESCRIPTION, formatter_class=formatter
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    what = "write the weights of a file in another format"
    one = commands.add_parser("convert", help=what, description=f"{what.capitalize()}.")
    one.add_argument("source", metavar="IN", help=SUFFIXES)
    one.add_argument("target", metavar="OUT", help=SUFFIXES)
    one.add_argument("--from", dest="format", choices=FORMATS, help="format of IN")
    one.add_argument("--to", required=True, choices=FORMATS, help="format of OUT")
    one.add_argument("--to-bias", choices=BIASES, help="bias vectors of OUT, if not those of IN")
    one.add_argument(
        "--sum-biases", action="store_true", help="add two vectors into one: not invertible"
    )
    _add_source_options(one)
    one.set_defaults(run=_convert)
    what = "print and draw where every parameter is"
    other = commands.add_parser("describe", help=what, description=f"{what.capitalize()}.")
    other.add_argument("source", metavar="IN", nargs="?", help="a file; else the sizes tell")
    other.add_argument("--from", dest="format", choices=FORMATS, help="the format to describe")
    other.add_argument("--picture", metavar="FILE", help="draw it too, into a .png or .svg file")
    _add_source_options(other)
    other.set_defaults(run=_describe)
    return parser


def _add_source_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--prefix", default="", help="use only arrays whose names begin so, and take it off"
    )
    parser.add_argument(
        "--attribute",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="what the format says besides, such as linear_before_reset=1 (ONNX)",
    )
    config = parser.add_argument_group("the RNN, where the file does not tell")
    config.add_argument("--cell", choices=CELLS)
    for name in ("input-size", "hidden-size", "num-layers", "projection-size"):
        config.add_argument(f"--{name}", type=int, metavar="N")
    config.add_argument("--bidirectional", dest="direction", action="store_const", const=CONCAT)
    config.add_argument("--skip-input", action="store_true", default=None)
    config.add_argument("--bias", choices=BIASES)
    config.add_argument("--clip", type=float, nargs=2, metavar=("LOW", "HIGH"))


def _convert(options: argparse.Namespace) -> None:
    source, config, arrays, attributes = _load(options)
    arrays, config = convert(
        arrays,
        config,
        source=source,
        target=options.to,
        attributes=attributes,
        bias=options.to_bias,
        sum_biases=options.sum_biases,
    )
    files.write(options.target, options.to, config, arrays)
    print(f"{options.target}: {description.title(options.to, config)}")
    for name, attribute in FORMATS[options.to].attributes.get(config.cell, {}).items():
        if attribute.required != attribute.default:
            print(f"to be used with {name}={attribute.required}")


def _describe(options: argparse.Namespace) -> None:
    if options.source:
        format, config, arrays, attributes = _load(options)
        unpack(format, arrays, config, attributes=attributes)  # whether they are what they claim
    else:
        format, config = options.format, _config_alone(options)
    if not options.picture:
        description.show(format, config)
        return
    if importlib.util.find_spec("matplotlib") is None:
        raise BadParam("--picture", "needs matplotlib: pip install 'miopy[demo]'")
    from .picture import draw

    draw(options.picture, format, config)
    description.show(format, config)


def _load(options: argparse.Namespace) -> tuple[str, RNNConfig, Arrays, dict[str, Any]]:
    """Format, RNN, arrays and attributes, told by the file or by the options."""
    stored = files.read(options.source)
    format = _agreed("format", options.format, stored.format)
    if format is None:
        raise BadParam("format", f"must be given, {options.source} does not tell it")
    prefix = options.prefix
    arrays = {
        name.removeprefix(prefix): array
        for name, array in stored.arrays.items()
        if name.startswith(prefix)
    }
    if not stored.arrays:
        raise BadParam("path", "must have arrays", options.source)
    if not arrays:
        rule = f"must begin the name of an array: {', '.join(stored.arrays)}"
        raise BadParam("--prefix", rule, prefix)
    known = _known(options)
    if stored.config:
        for name, value in known.items():
            _agreed(name, value, getattr(stored.config, name))
    config = stored.config or recognise(format, arrays, **known)
    return format, config, arrays, {**stored.attributes, **_attributes(options)}


def _agreed(name: str, option: Any, stored: Any) -> Any:
    """The value that the option or the file tells; BadParam if they differ."""
    if option is not None and stored is not None and option != stored:
        raise BadParam(name, f"must be {stored!r}, as the file says", option)
    return stored if option is None else option


def _config_alone(options: argparse.Namespace) -> RNNConfig:
    known = _known(options)
    for name in ("format", "cell", "input_size", "hidden_size"):
        if getattr(options, name) is None:
            raise BadParam(name, "must be given where no file is")
    return RNNConfig(**known)


def _known(options: argparse.Namespace) -> dict[str, Any]:
    """The fields of RNNConfig that were given."""
    known = {name: getattr(options, name) for name in files.FIELDS if name != "dtype"}
    if known["clip"]:
        known["clip"] = Clip(*known["clip"])
    return {name: value for name, value in known.items() if value is not None}


def _attributes(options: argparse.Namespace) -> dict[str, Any]:
    """Values are JSON where they can be read so, else words."""
    attributes = {}
    for text in options.attribute:
        name, equals, value = text.partition("=")
        if not equals:
            raise BadParam("--attribute", "must be NAME=VALUE", text)
        try:
            attributes[name] = json.loads(value)
        except ValueError:
            attributes[name] = value
    return attributes
