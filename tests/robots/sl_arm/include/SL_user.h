/* Lengths of the arm, m. The manual does not print those of its example; these are of a grown-up. */
#ifndef _SL_user_
#define _SL_user_

#define XSH 0.20
#define YSH 0.02
#define ZSH 0.45
#define UPPERARM 0.287
#define FOREARM 0.2781
#define XTHUMB 0.03
#define YTHUMB 0.05
#define ZTHUMB 0.02
#define THUMB 0.06

/* vertices, in the order of a walk */
enum RobotLinks {
  L_SHOULDER = 1,
  L_ELBOW,
  L_WRIST,
  L_HAND,
  L_THUMB_JOINT,
  L_THUMB
};

#define LEFT_HAND 1
#define N_ENDEFFS LEFT_HAND

enum RobotDOFs {
  L_SFE = 1,
  L_SAA,
  L_HR,
  L_EB,
  L_WR,
  L_WFE,
  L_WAA,
  L_TL
};

#define N_DOFS L_TL
#define SERVO_BASE_RATE 960
#endif
