/*
 * Hooks: functions of your own that the simulation program calls. Each does nothing as it stands;
 * change those that you need, and build with `make HOOKS=hooks.c`.
 *
 * Arrays: q coordinates, u independent speeds, p parameters, w inputs, y outputs, all in the order
 * and in the units of the equations, which the head of the program lists (angles in rad).
 */
#include <stdio.h>

int hook_input(const char *keyword, const char *value);
void hook_init(double t, double *q, double *u, double *p, double *w);
void hook_echo(FILE *file);
void hook_difeqn(double t, const double *q, const double *u, const double *p, double *w);
void hook_output(double t, const double *q, const double *u, double *y);
int hook_update(double t, double *q, double *u, double *p, double *w);

/* A keyword of a parameter file that the program does not know; return 1 if you take it. */
int hook_input(const char *keyword, const char *value)
{
    (void)keyword, (void)value;
    return 0;
}

/* Once, after the parameter files are read and before loops are closed. */
void hook_init(double t, double *q, double *u, double *p, double *w)
{
    (void)t, (void)q, (void)u, (void)p, (void)w;
}

/* At the end of an echo file: print keywords of your own, so that it can be read again. */
void hook_echo(FILE *file)
{
    (void)file;
}

/* Before every evaluation of the derivative: set inputs, as a tire model or a controller does. */
void hook_difeqn(double t, const double *q, const double *u, const double *p, double *w)
{
    (void)t, (void)q, (void)u, (void)p, (void)w;
}

/* When outputs are written: change them. */
void hook_output(double t, const double *q, const double *u, double *y)
{
    (void)t, (void)q, (void)u, (void)y;
}

/* Once after every step, with time going up: hysteresis, sampled control, values from a file.
   Return 1 if you have changed parameters. */
int hook_update(double t, double *q, double *u, double *p, double *w)
{
    (void)t, (void)q, (void)u, (void)p, (void)w;
    return 0;
}
