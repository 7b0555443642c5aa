"""These modules import the peers, which `make test-peers` installs and `make test` does not."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["test_*.py"]
