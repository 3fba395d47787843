from linkwright.grasp.contacts import FingerContact as FingerContact
from linkwright.grasp.grasps import Grasp as Grasp
from linkwright.grasp.hand import (
    hand_with_ball as hand_with_ball,
    three_finger_hand as three_finger_hand,
)
from linkwright.grasp.objects import GraspObject as GraspObject, grasp_object as grasp_object
from linkwright.grasp.planning import plan_grasps as plan_grasps
