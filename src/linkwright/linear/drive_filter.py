"""The Kalman filter of a whole joint: its matrices are those of the joint's chain.

JNTMOD, section 3.7: x^ is predicted by x^- = Phi x^ + Theta alpha with alpha = [R; Z], and
corrected by z - z^ with z^ = H x^-. P begins as 100 times the identity. With the filter in the
loop the controller is given H x^ in place of the sensors, and so is alpha.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwright.algebra import Expr
from linkwright.base.errors import suggestion
from linkwright.control.kalman_filter import KalmanFilter
from linkwright.elements.drives import Chain
from linkwright.elements.drives.matrices import ChainMatrices
from linkwright.elements.drives.parts import DriveError
from linkwright.system import System


class JointFilter(KalmanFilter):
    """A Kalman filter of a chain, whose channels have the chain's names and units.

    Args:
        found: the chain's matrices.
        units: of states and sensors, by name.
        name: of the block.

    Channels: `XHAT`, `SIGMAX`, `ZHAT`, `DZ`, which is z - z^, and `NIS`; `y`, which is H x^.
    """

    def __init__(self, found: ChainMatrices, units: dict[str, str], name: str) -> None:
        self._of = found
        self._units = units
        super().__init__(
            found.Phi,
            found.H,
            found.Q,
            found.R,
            theta=found.Theta,
            states=found.states,
            name=name,
            rate=1 / found.step,
        )

    def _put_out(
        self,
        x: Sequence[Expr],
        sigma: Sequence[Expr],
        nis: Expr,
        filtered: Sequence[Expr],
        expected: Sequence[Expr],
    ) -> None:
        innovations = [z - e for z, e in zip(self._z, expected, strict=True)]
        for name, values, of, doc in (
            ("XHAT", x, self._of.states, "estimate"),
            ("SIGMAX", sigma, self._of.states, "standard deviation of the estimate"),
            ("ZHAT", expected, self._of.sensors, "what was expected to be measured"),
            ("DZ", innovations, self._of.sensors, "measured less expected"),
            ("y", filtered, self._of.sensors, "what is measured, from the estimate"),
        ):
            scales = [self._units.get(n, "?") for n in of]
            self.output_vector(name, values, unit=scales, doc=doc, labels=of)
        self.output("NIS", nis, unit="1", doc="normalized innovation squared")


def add_filter(system: System, name: str, *, feedback: bool = False) -> str:
    """Add the Kalman filter of a chain to its System, and return the filter's name.

    Args:
        system: what has the chain.
        name: of the chain.
        feedback: whether the controller is given what the filter makes of the sensors.

    >>> from linkwright.models.library import opened
    >>> system = opened("joint-drive:noise=1")
    >>> add_filter(system, "joint")
    'joint_filter'
    """
    known = [n for n, member in system.members.items() if isinstance(member.block, Chain)]
    if name not in known:
        raise DriveError(
            f"{name!r} is not a Chain: a filter takes its matrices from one",
            remedy=suggestion(name, known, "give a model with a Chain that has a rate"),
            code="R411",
        )
    member = system.members[name]
    chain = member.block
    assert isinstance(chain, Chain)
    found = chain.matrices()
    if not found.sensors:
        raise DriveError(
            f"the chain {name!r} has no sensors, so there is nothing to filter",
            remedy="give it sensors=",
            code="R405",
        )
    if not (found.Q.any() and found.R.any(axis=1).all()):
        raise DriveError(
            f"the chain {name!r} has states or sensors without noise, so that its filter would be "
            "singular",
            remedy="give deviations: joint-drive:noise=1, or [member.noise] of a file",
            code="R425",
        )
    units = chain.signal_units()
    added = system.add(JointFilter(found, units, f"{name}_filter"))
    system.connect(f"{name}.Z", added.z)
    read = added.y if feedback else member.Z
    for source, port in zip([*member.R, *read], added.u, strict=True):
        system.connect(source, port)
    if feedback:
        system.connect(added.y, member.feedback)
    return f"{name}_filter"
