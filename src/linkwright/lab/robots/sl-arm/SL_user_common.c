/* Names, end-effectors and integration of the right arm, as in section 11.3 of the manual. */
#include "SL.h"
#include "SL_user.h"

char joint_names[][20] = {
  {"dummy"},
  {"R_SFE"}, {"R_SAA"}, {"R_HR"}, {"R_EB"}, {"R_WR"},
  {"R_WFE"}, {"R_WAA"}, {"R_TL"}, {"R_TV"}, {"R_FAA"}
};

char cart_names[][20] = {
  {"dummy"},
  {"R_HAND"}
};

char blob_names[][20] = {
  {"dummy"},
  {"blob1"}, {"blob2"}, {"blob3"}, {"blob4"}, {"blob5"}, {"blob6"}
};

char misc_sensor_names[][20] = {
  {"dummy"}
};

/* the vertex that is each end-effector */
int link2endeffmap[] = {0, HAND};

int n_integration = 1;
int integrate_method = INTEGRATE_EULER;

void
setDefaultEndeffector(void)
{
  int i;

  for (i = 1; i <= N_ENDEFFS; ++i) {
    endeff[i].m = 0.0;
    endeff[i].mcm[_X_] = 0.0;
    endeff[i].mcm[_Y_] = 0.0;
    endeff[i].mcm[_Z_] = 0.0;
    endeff[i].x[_X_] = 0.0;
    endeff[i].x[_Y_] = 0.085;
    endeff[i].x[_Z_] = 0.0;
    endeff[i].a[_A_] = 0.0;
    endeff[i].a[_B_] = -PI/2.;
    endeff[i].a[_G_] = 0.0;
  }
}
