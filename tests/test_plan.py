"""The regions of workspace and reserve."""

from __future__ import annotations

import itertools

import pytest

from miopy.core.cells import CELLS
from miopy.core.config import CONCAT, DTYPES, RNNConfig
from miopy.core.plan import plan
from miopy.core.space import Space


@pytest.mark.parametrize("cell", CELLS)
def test_every_region_is_where_its_items_can_be_read(cell):
    """Sizes are odd, so that whatever follows a region of smaller items is off."""
    for dtype, dropout, keeps, padded in itertools.product(DTYPES, *[(False, True)] * 3):
        config = RNNConfig(cell, 3, 5, 2, CONCAT, dtype=dtype, dropout=dropout)
        options = {"training": True, "padded": padded, "keeps_gradients": keeps}
        planned = plan(config, 7, **options)
        for space in (planned.workspace, planned.reserve):
            for name, region in space.regions.items():
                assert region.offset % region.itemsize == 0, (name, dtype, options)


def test_a_region_that_would_be_off_is_not_booked():
    space = Space()
    space.book("bytes", (3,), 1)
    with pytest.raises(ValueError, match="x would lie at 3, no multiple of 4"):
        space.book("x", (2,), 4)


@pytest.mark.parametrize(
    ("steps", "batch", "hidden_size", "stack", "worth"),
    [
        (3, 1, 8, (1,), False),
        (4, 1, 8, (1,), True),
        (4096, 1, 8, (1,), True),
        (4097, 1, 8, (1,), False),
        (512, 1, 8, (4, CONCAT), True),
        (513, 1, 8, (4, CONCAT), False),
        (25, 64, 512, (1,), True),
        (25, 512, 1024, (1,), False),
    ],
)
def test_graphs_are_for_steps_that_launching_dominates(steps, batch, hidden_size, stack, worth):
    config = RNNConfig("lstm", 8, hidden_size, *stack)
    found = plan(config, steps * batch, training=True)
    assert found.replays((batch,) * steps) == worth
