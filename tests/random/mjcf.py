"""Random MJCF files that use many ways of saying the same thing."""

from __future__ import annotations

import numpy as np

_GEOMS = ("sphere", "capsule", "cylinder", "ellipsoid", "box")


class _Writer:
    """A random file while it is written."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.count = 0
        self.classes = ["light", "heavy"]
        self.degrees = bool(self.rng.integers(2))
        self.sequence = "".join(self.rng.choice(list("xyzXYZ"), 3))

    def numbers(self, count: int, low: float = -1.0, high: float = 1.0) -> str:
        return " ".join(repr(float(x)) for x in self.rng.uniform(low, high, count))

    def angle(self, low: float = -3.0, high: float = 3.0) -> str:
        value = float(self.rng.uniform(low, high))
        return repr(float(np.degrees(value)) if self.degrees else value)

    def place(self) -> str:
        way = self.rng.integers(7)
        words = f'pos="{self.numbers(3)}"' if self.rng.integers(4) else ""
        turn = ""
        if way == 1:
            turn = f'quat="{self.numbers(4)}"'
        elif way == 2:
            turn = f'axisangle="{self.numbers(3)} {self.angle()}"'
        elif way == 3:
            turn = f'xyaxes="{self.numbers(6)}"'
        elif way == 4:
            turn = f'zaxis="{self.numbers(3)}"'
        elif way == 5:
            turn = f'euler="{self.angle()} {self.angle()} {self.angle()}"'
        return f"{words} {turn}".strip()

    def class_(self) -> str:
        return f' class="{self.rng.choice(self.classes)}"' if self.rng.integers(3) == 0 else ""

    def geom(self) -> str:
        kind = str(self.rng.choice(_GEOMS))
        weight = ("", f' mass="{self.numbers(1, 0.1, 2)}"', f' density="{self.numbers(1, 10, 99)}"')
        shell = ' shellinertia="true"' if kind != "ellipsoid" and self.rng.integers(6) == 0 else ""
        group = f' group="{self.rng.integers(0, 5)}"' if self.rng.integers(3) == 0 else ""
        rest = weight[self.rng.integers(3)] + shell + group + self.class_()
        if kind != "sphere" and self.rng.integers(2):
            between = f'fromto="{self.numbers(6)}"'
            return f'<geom type="{kind}" size="{self.numbers(1, 0.05, 0.2)}" {between}{rest}/>'
        return f'<geom type="{kind}" size="{self.numbers(3, 0.05, 0.3)}" {self.place()}{rest}/>'

    def inertial(self) -> str:
        half = self.rng.normal(size=(3, 3))
        spread = half @ half.T
        tensor = np.trace(spread) * np.eye(3) - spread
        mass, center = self.numbers(1, 0.5, 2), self.numbers(3)
        if self.rng.integers(2):
            rows = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]
            six = " ".join(repr(float(tensor[i, j])) for i, j in rows)
            return f'<inertial pos="{center}" mass="{mass}" fullinertia="{six}"/>'
        moments = " ".join(repr(float(x)) for x in np.linalg.eigvalsh(tensor))
        quat = self.numbers(4)
        return f'<inertial pos="{center}" quat="{quat}" mass="{mass}" diaginertia="{moments}"/>'

    def joints(self, root: bool) -> str:
        kind = self.rng.integers(8)
        self.count += 1
        if kind == 0:
            return ""
        if kind == 1 and root:
            return f'<freejoint name="j{self.count}"/>'
        if kind == 2:
            return f'<joint type="ball" name="j{self.count}" pos="{self.numbers(3)}" armature="0"/>'
        found = []
        for k in range(self.rng.integers(1, 4)):
            name = f' name="j{self.count}_{k}"' if self.rng.integers(4) else ""
            slides = self.rng.integers(3) == 0
            at = f' pos="{self.numbers(3)}"' if self.rng.integers(2) else ""
            reference = ""
            if self.rng.integers(3) == 0:
                reference = f' ref="{self.numbers(1) if slides else self.angle()}"'
            span = ""
            if self.rng.integers(3) == 0:
                ends = ("-1 2",) if slides else (f"{self.angle(-3, -1)} {self.angle(1, 3)}",)
                span = f' range="{ends[0]}"'
            kind_word = ' type="slide"' if slides else ' type="hinge"'
            rest = f' damping="{self.numbers(1, 0, 1)}"' if self.rng.integers(3) == 0 else ""
            axis = f' axis="{self.numbers(3)}"'
            found.append(
                f"<joint{name}{kind_word}{axis}{at}{reference}{span}{rest}{self.class_()}/>"
            )
        return "".join(found)

    def framed(self, inner: str) -> str:
        return inner if self.rng.integers(4) else f"<frame {self.place()}>{inner}</frame>"

    def body(self, depth: int, root: bool) -> str:
        self.count += 1
        name = f' name="b{self.count}"' if self.rng.integers(5) else ""
        child = (
            f' childclass="{self.rng.choice(self.classes)}"' if self.rng.integers(4) == 0 else ""
        )
        joints = self.joints(root)
        parts = [joints if "free" in joints or "ball" in joints else self.framed(joints)]
        heavy = self.rng.integers(3) == 0
        parts.append(self.inertial() if heavy else self.geom())
        parts += [self.framed(self.geom()) for _ in range(self.rng.integers(0, 2))]
        if self.rng.integers(2):
            self.count += 1
            parts.append(self.framed(f'<site name="s{self.count}" {self.place()}/>'))
        if depth:
            parts += [
                self.framed(self.body(depth - 1, False)) for _ in range(self.rng.integers(0, 3))
            ]
        return f"<body{name}{child} {self.place()}>{''.join(parts)}</body>"

    def text(self) -> str:
        angle = "degree" if self.degrees else "radian"
        bodies = "".join(self.body(3, True) for _ in range(2))
        defaults = (
            '<default><geom density="50"/><joint armature="0.1"/>'
            '<default class="light"><geom density="20"/><joint damping="0.5" type="slide"/>'
            '<default class="heavy"><geom mass="3" group="2"/><joint axis="1 2 3"/></default>'
            "</default></default>"
        )
        compiler = f'<compiler angle="{angle}" eulerseq="{self.sequence}"'
        return (
            f'<mujoco model="random">{compiler} boundmass="0.01" boundinertia="0.001"/>'
            f"{defaults}<worldbody>{bodies}</worldbody></mujoco>"
        )


def random_mjcf(seed: int) -> str:
    """Return a random MJCF text; the same seed gives the same text."""
    return _Writer(seed).text()
