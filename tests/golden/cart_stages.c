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
 * cart_prepare leaves 6 constants, which cart takes:
 * void cart_prepare(const double *parameters, double *constants)
 * void cart(
 *     const double *q,
 *     const double *u,
 *     const double *F,
 *     const double *constants,
 *     double *a,
 *     double *energy)
 */
#include <math.h>

void cart_prepare(const double *parameters, double *constants)
{
    const double M = parameters[0];
    const double m = parameters[1];
    const double L = parameters[2];
    const double g = parameters[3];
    /* outputs */
    constants[0] = M;
    constants[1] = m;
    constants[2] = L;
    constants[3] = g;
    constants[4] = 1.0/L;
    constants[5] = L*L*m*0.5;
}

void cart(
    const double *q,
    const double *u,
    const double *F,
    const double *constants,
    double *a,
    double *energy)
{
    const double theta = q[1];
    const double omega = u[1];
    const double F_value = F[0];
    const double M = constants[0];
    const double m = constants[1];
    const double L = constants[2];
    const double g = constants[3];
    const double c5 = constants[4];
    const double c6 = constants[5];
    /* configuration stage */
    const double z1 = sin(theta);
    const double z2 = cos(theta);
    const double z3 = g*z2;
    const double z4 = m*z1;
    const double z5 = M + z1*z1*m;
    const double z6 = g*z1;
    /* velocity stage */
    const double z7 = omega*omega;
    const double z8 = (z3 + L*z7)*z4;
    /* acceleration stage */
    const double z9 = F_value + z8;
    /* outputs */
    a[0] = z9/z5;
    a[1] = -(z6 + z2*z9/z5)*c5;
    energy[0] = z7*c6;
}
