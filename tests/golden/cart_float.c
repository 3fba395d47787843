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
 *     const float *parameters,
 *     const float *q,
 *     const float *u,
 *     const float *F,
 *     float *a,
 *     float *energy)
 */
#include <math.h>

void cart(
    const float *parameters,
    const float *q,
    const float *u,
    const float *F,
    float *a,
    float *energy)
{
    const float M = parameters[0];
    const float m = parameters[1];
    const float L = parameters[2];
    const float g = parameters[3];
    const float theta = q[1];
    const float omega = u[1];
    const float F_value = F[0];
    /* parameter stage */
    const float z1 = 1.0f/L;
    const float z2 = L*L*m*0.5f;
    /* configuration stage */
    const float z3 = sinf(theta);
    const float z4 = cosf(theta);
    const float z5 = g*z4;
    const float z6 = m*z3;
    const float z7 = M + z3*z3*m;
    const float z8 = g*z3;
    /* velocity stage */
    const float z9 = omega*omega;
    const float z10 = (z5 + L*z9)*z6;
    /* acceleration stage */
    const float z11 = F_value + z10;
    /* outputs */
    a[0] = z11/z7;
    a[1] = -(z8 + z4*z11/z7)*z1;
    energy[0] = z9*z2;
}
