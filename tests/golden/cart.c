/*
 * cart
 *
 * Written by Linkwright 0.1.0; program 82ae4b31d35d2a772cbefc407711caf4.
 *
 * Inputs
 *   parameters[4]
 *       M (kg): mass of the cart
 *       m (kg): mass of the bob
 *       L (m): length of the rod
 *       g (m/s^2): gravity
 *   q[2]
 *       x (m)
 *       theta (rad)
 *   u[2]
 *       v (m/s)
 *       omega (rad/s)
 *   F
 *       F (N): push on the cart
 * Outputs
 *   a[2]
 *   energy
 * Operations of each stage
 *                      add     mul    call  select
 *   parameter            0       4       0       0
 *   configuration        1       5       2       0
 *   velocity             1       3       0       0
 *   acceleration         2       4       0       0
 *   output               0       1       0       0
 *
 * void cart(
 *     const double *parameters,
 *     const double *q,
 *     const double *u,
 *     const double *F,
 *     double *a,
 *     double *energy)
 */
#include <math.h>

void cart(
    const double *parameters,
    const double *q,
    const double *u,
    const double *F,
    double *a,
    double *energy)
{
    const double M = parameters[0];
    const double m = parameters[1];
    const double L = parameters[2];
    const double g = parameters[3];
    const double theta = q[1];
    const double omega = u[1];
    const double F_value = F[0];
    /* parameter stage */
    const double z1 = 1.0/L;
    const double z2 = L*L*m*0.5;
    /* configuration stage */
    const double z3 = sin(theta);
    const double z4 = cos(theta);
    const double z5 = g*z4;
    const double z6 = m*z3;
    const double z7 = M + z3*z3*m;
    const double z8 = g*z3;
    /* velocity stage */
    const double z9 = omega*omega;
    const double z10 = (z5 + L*z9)*z6;
    /* acceleration stage */
    const double z11 = F_value + z10;
    /* outputs */
    a[0] = z11/z7;
    a[1] = -(z8 + z4*z11/z7)*z1;
    energy[0] = z9*z2;
}
