from linkwright.mechanism import shapes as shapes
from linkwright.mechanism.joints import (
    Ball as Ball,
    Cylindrical as Cylindrical,
    Free as Free,
    Joint as Joint,
    MechanismError as MechanismError,
    Planar as Planar,
    Prismatic as Prismatic,
    Revolute as Revolute,
    Screw as Screw,
    Universal as Universal,
    Weld as Weld,
)
from linkwright.mechanism.kinematics import (
    BodyMotion as BodyMotion,
    Kinematics as Kinematics,
    Speed as Speed,
)
from linkwright.mechanism.mechanism import Mechanism as Mechanism
from linkwright.mechanism.model_like import (
    HasMechanism as HasMechanism,
    ModelLike as ModelLike,
    mechanism_of as mechanism_of,
    resolved as resolved,
)
from linkwright.mechanism.parts import (
    Body as Body,
    Constraint as Constraint,
    Force as Force,
    Inertia as Inertia,
    Moment as Moment,
    Output as Output,
    Point as Point,
    State as State,
    Work as Work,
)
