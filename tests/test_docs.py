"""The documents name files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md")))
# From where a path may count, beside the root of the checkout.
FOLDERS = ("", "include", "miopy", "miopy/kernels", "miopy/kernels/host", "tests", "tools")
FILE = re.compile(r"`([\w./-]+/[\w.-]+\.(?:c|cu|h|inc|json|md|py|toml))`")
LINK = re.compile(r"\]\(([^)#:]+)\)")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_files_it_names_exist(document):
    named = set(FILE.findall(document.read_text()))
    assert not {path for path in named if not any((ROOT / at / path).exists() for at in FOLDERS)}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_to_files(document):
    linked = set(LINK.findall(document.read_text()))
    assert not {path for path in linked if not (document.parent / path).exists()}


def test_the_documents_name_files_and_have_links():
    texts = [document.read_text() for document in DOCUMENTS]
    assert len(FILE.findall("\n".join(texts))) > 50
    assert len(LINK.findall("\n".join(texts))) > 10
