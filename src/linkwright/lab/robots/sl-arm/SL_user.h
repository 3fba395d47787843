/* The right arm of section 6 of the manual: lengths in m, names, rates. */
#ifndef _SL_user_
#define _SL_user_

#define l0 0.4     /* base to shoulder, to the right */
#define l1 0.0381  /* shoulder, outward */
#define l2 0.287   /* upper arm */
#define l3 0.0025  /* elbow, forward */
#define l4 0.2781  /* forearm */
#define l5 0.0081  /* wrist */
#define l6x 0.03   /* wrist to finger joint */
#define l6y 0.1
#define l6z 0.02
#define l7z -0.05  /* wrist to thumb joint */
#define l10 0.15   /* finger, and thumb */

/* vertices, in the order of a walk */
enum RobotLinks {
  SHOULDER = 1,
  SHOULDER_OFF,
  ELBOW,
  ELBOW_OFF,
  WRIST,
  WRIST_OFF,
  HAND,
  FINGER_JOINT,
  FINGER,
  THUMB_JOINT,
  THUMB
};
#define N_LINKS THUMB

/* end-effectors */
enum RobotEndeffectors {
  RIGHT_HAND = 1
};
#define N_ENDEFFS RIGHT_HAND

/* degrees of freedom */
enum RobotDOFs {
  R_SFE = 1,
  R_SAA,
  R_HR,
  R_EB,
  R_WR,
  R_WFE,
  R_WAA,
  R_TL,
  R_TV,
  R_FAA
};
#define N_DOFS R_FAA

/* parameter estimation: degrees of freedom, and how many of the last it skips */
#define N_DOFS_EST_SKIP 3
#define N_DOFS_EST (N_DOFS + N_DOFS_EST_SKIP)

/* vision */
#define BLOB1 1
#define BLOB2 2
#define BLOB3 3
#define BLOB4 4
#define BLOB5 5
#define BLOB6 6
#define MAX_BLOBS BLOB6
#define N_CAMERAS 2
#define VISION_DEFAULT_PP "vision_default.pp"

#define N_MISC_SENSORS 0

/* rates */
#define SERVO_BASE_RATE 960
#define TASK_SERVO_RATIO 2

#endif
