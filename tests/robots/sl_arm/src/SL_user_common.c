/* Defaults of the end-effector, as in section 11.3 of the manual. */
int link2endeffmap[] = {0, L_HAND};

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
