from linkwright.robots import identification as identification, ik as ik
from linkwright.robots.base_estimation import BaseEstimator as BaseEstimator
from linkwright.robots.closing import closed as closed
from linkwright.robots.ground import on_ground as on_ground
from linkwright.robots.quantity import FrameQuantity as FrameQuantity, Quantity as Quantity
from linkwright.robots.robot import Robot as Robot
