"""What tasks draw: plain data for viewers, refused in words where it is none."""

from __future__ import annotations

import math

import pytest

from linkwright.base.errors import InputError
from linkwright.lab.drawing import MOST, Drawing, DrawnArrow, DrawnLine, DrawnSphere, DrawnText


def test_each_thing_is_plain_data_in_the_order_of_drawing() -> None:
    scene = Drawing()
    scene.sphere([1, 2, 3])
    scene.line([(0, 0, 0), (1, 0, 0)], color=(0.5, 0.5, 1))
    scene.arrow((0, 0, 0), (0, 0, 2), color="blue")
    scene.text((0, 0, 1), 12.5)
    sphere, line, arrow, label = scene.things
    assert sphere == DrawnSphere((1.0, 2.0, 3.0), 0.03, (1.0, 1.0, 0.0))
    assert isinstance(line, DrawnLine)
    assert line.points[1] == (1.0, 0.0, 0.0)
    assert isinstance(arrow, DrawnArrow)
    assert arrow.vector == (0.0, 0.0, 2.0)
    assert label == DrawnText((0.0, 0.0, 1.0), "12.5", (1.0, 1.0, 1.0))


def test_what_cannot_be_drawn_is_refused_in_words() -> None:
    scene = Drawing()
    with pytest.raises(InputError, match="not a point in space"):
        scene.sphere((0, math.nan, 0))
    with pytest.raises(InputError, match="did you mean 'yellow'"):
        scene.sphere((0, 0, 0), color="yelow")
    with pytest.raises(InputError, match="radius of -1"):
        scene.sphere((0, 0, 0), radius=-1)
    with pytest.raises(InputError, match="two or more"):
        scene.line([(0, 0, 0)])
    for _ in range(MOST):
        scene.text((0, 0, 0), "again")
    with pytest.raises(InputError, match=f"more than {MOST}"):
        scene.text((0, 0, 0), "again")
