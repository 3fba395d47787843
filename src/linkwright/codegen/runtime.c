/* ---- the simulation program around the equations ---------------------------------------------- */

enum { SIM_FILES = 20, SIM_LINE = 1024, SIM_NAME = 512, SIM_STATES = SIM_Q + SIM_U };
enum { SIM_FAILED = 1, SIM_WRONG = 2 };

static double sim_shown_p[SIM_P + 1], sim_shown_w[SIM_W + 1]; /* in the units of users */
static double sim_shown_q[SIM_Q + 1], sim_shown_u[SIM_U + 1];
static double sim_step = SIM_DEFAULT_STEP, sim_stop = SIM_DEFAULT_STOP;
static double sim_every = SIM_DEFAULT_EVERY;
static char sim_method[SIM_LINE] = "midpoint";
static char sim_run_title[SIM_LINE] = "";
static char sim_input_file[SIM_NAME] = "";
static long sim_evaluations = 0;

/* ---- hooks: functions of your own, compiled with -DSIM_HOOKS (see hooks.c) --------------------- */
#ifdef SIM_HOOKS
int hook_input(const char *keyword, const char *value);
void hook_init(double t, double *q, double *u, double *p, double *w);
void hook_echo(FILE *file);
void hook_difeqn(double t, const double *q, const double *u, const double *p, double *w);
void hook_output(double t, const double *q, const double *u, double *y);
int hook_update(double t, double *q, double *u, double *p, double *w);
#else
static int hook_input(const char *keyword, const char *value)
{
    (void)keyword, (void)value;
    return 0;
}
static void hook_init(double t, double *q, double *u, double *p, double *w)
{
    (void)t, (void)q, (void)u, (void)p, (void)w;
}
static void hook_echo(FILE *file)
{
    (void)file;
}
static void hook_difeqn(double t, const double *q, const double *u, const double *p, double *w)
{
    (void)t, (void)q, (void)u, (void)p, (void)w;
}
static void hook_output(double t, const double *q, const double *u, double *y)
{
    (void)t, (void)q, (void)u, (void)y;
}
static int hook_update(double t, double *q, double *u, double *p, double *w)
{
    (void)t, (void)q, (void)u, (void)p, (void)w;
    return 0;
}
#endif

/* ---- text ------------------------------------------------------------------------------------- */
static void sim_die(int code, const char *what, const char *which)
{
    fprintf(stderr, "error: %s%s\n", what, which);
    exit(code);
}

/* Copy a text; a longer one is cut. */
static void sim_copy(char *to, const char *from, size_t size)
{
    size_t n = strlen(from);
    if (n >= size) {
        n = size - 1;
    }
    memcpy(to, from, n);
    to[n] = '\0';
}

/* Return a text without blanks at either end. */
static char *sim_trim(char *text)
{
    size_t n;
    while (*text != '\0' && isspace((unsigned char)*text)) {
        ++text;
    }
    n = strlen(text);
    while (n > 0 && isspace((unsigned char)text[n - 1])) {
        text[--n] = '\0';
    }
    return text;
}

/* Write a number with the fewest digits that read back to the same bits. */
static const char *sim_number(double x)
{
    static char text[40];
    int digits;
    for (digits = 6; digits < 18; ++digits) {
        sprintf(text, "%.*g", digits, x);
        if (strtod(text, NULL) == x) {
            break;
        }
    }
    return text;
}

static const char *sim_date(void)
{
    static char text[40];
    const time_t now = time(NULL);
    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", localtime(&now));
    return text;
}

/* Return whether a name is that of a link, a pipe or a device, which must stay what it is; a plain
   file gets the mode of the one that it is about to replace. */
static int sim_is_special(const char *temporary, const char *name)
{
#ifdef _POSIX_C_SOURCE
    struct stat there;
    if (lstat(name, &there) != 0) {
        return 0;
    }
    return !S_ISREG(there.st_mode) || chmod(temporary, there.st_mode & 07777) != 0;
#else
    (void)temporary, (void)name;
    return 0;
#endif
}

/* Copy a finished file to where a name leads; return whether that worked. */
static int sim_pour(const char *temporary, const char *name)
{
    char block[4096];
    size_t n;
    FILE *from = fopen(temporary, "rb"), *to = fopen(name, "wb");
    int good = from != NULL && to != NULL;
    while (good && (n = fread(block, 1, sizeof block, from)) > 0) {
        good = fwrite(block, 1, n, to) == n;
    }
    good = good && !ferror(from);
    if (from != NULL) {
        fclose(from);
    }
    if (to != NULL && fclose(to) != 0) {
        good = 0;
    }
    return good;
}

/* Give a finished file its name. */
static void sim_publish(const char *temporary, const char *name)
{
    if (sim_is_special(temporary, name)) {
        const int good = sim_pour(temporary, name);
        remove(temporary);
        if (!good) {
            sim_die(SIM_FAILED, "cannot write ", name);
        }
        return;
    }
    if (rename(temporary, name) == 0) {
        return;
    }
    remove(name); /* some systems rename only to a name that is free */
    if (rename(temporary, name) != 0) {
        remove(temporary);
        sim_die(SIM_FAILED, "cannot write ", name);
    }
}

static FILE *sim_open(char *temporary, const char *name, const char *mode)
{
    FILE *file;
    if (strlen(name) + 9 > SIM_NAME) {
        sim_die(SIM_WRONG, "the name of a file is too long: ", name);
    }
    sprintf(temporary, "%s.tmp", name);
    file = fopen(temporary, mode);
    if (file == NULL) {
        sim_die(SIM_WRONG, "cannot write ", name);
    }
    return file;
}

/* ---- parameter files -------------------------------------------------------------------------- */
static int sim_find(const struct sim_item *items, int count, const char *name)
{
    int i;
    for (i = 0; i < count; ++i) {
        if (strcmp(items[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

/* Return the place that Q(3) or U(3) names, counted from zero, or -1. */
static int sim_numbered(char letter, const char *name, int count)
{
    int k = 0, used = 0;
    if (name[0] != letter || sscanf(name + 1, "(%d)%n", &k, &used) != 1 || name[1 + used] != '\0') {
        return -1;
    }
    return used > 0 && k >= 1 && k <= count ? k - 1 : -1;
}

/* Return where the value of a keyword is kept, or NULL. */
static double *sim_place(const char *keyword)
{
    int i;
    if (strcmp(keyword, "STEP") == 0) return &sim_step;
    if (strcmp(keyword, "STOPT") == 0) return &sim_stop;
    if (strcmp(keyword, "IPRINT") == 0) return &sim_every;
    if ((i = sim_find(sim_parameters, SIM_P, keyword)) >= 0) return sim_shown_p + i;
    if ((i = sim_find(sim_inputs, SIM_W, keyword)) >= 0) return sim_shown_w + i;
    if ((i = sim_find(sim_coordinates, SIM_Q, keyword)) >= 0) return sim_shown_q + i;
    if ((i = sim_find(sim_speeds, SIM_U, keyword)) >= 0) return sim_shown_u + i;
    if ((i = sim_numbered('Q', keyword, SIM_Q)) >= 0) return sim_shown_q + i;
    if ((i = sim_numbered('U', keyword, SIM_U)) >= 0) return sim_shown_u + i;
    return NULL;
}

/* Read one line into a buffer; of a longer one the rest is skipped. */
static int sim_line(FILE *file, char *line)
{
    size_t n;
    int c;
    if (fgets(line, SIM_LINE, file) == NULL) {
        return 0;
    }
    n = strlen(line);
    if (n > 0 && line[n - 1] != '\n') {
        do {
            c = fgetc(file);
        } while (c != EOF && c != '\n');
    }
    return 1;
}

static void sim_complain(const char *file, int number, const char *what, const char *which)
{
    fprintf(stderr, "error: %s:%d: %s %s\n", file, number, what, which);
    exit(SIM_WRONG);
}

/* Put a file behind those that wait; its name is relative to the folder of the one that names it. */
static void sim_queue(char queue[][SIM_NAME], int *count, const char *from, int number, const char *name)
{
    const char *slash = strrchr(from, '/');
    const size_t folder = slash == NULL || name[0] == '/' ? 0 : (size_t)(slash - from) + 1;
    if (*count == SIM_FILES) {
        sim_complain(from, number, "more than 20 parameter files, at", name);
    }
    if (folder + strlen(name) >= SIM_NAME) {
        sim_complain(from, number, "the name of a file is too long:", name);
    }
    memcpy(queue[*count], from, folder);
    strcpy(queue[*count] + folder, name);
    ++*count;
}

static void sim_keyword(const char *file, int number, const char *keyword, char *value)
{
    double *place = sim_place(keyword);
    char *end;
    double x;
    if (strcmp(keyword, "METHOD") == 0) {
        value[strcspn(value, " \t")] = '\0';
        if (strcmp(value, "midpoint") != 0 && strcmp(value, "rk4") != 0) {
            sim_complain(file, number, "METHOD is midpoint or rk4, not", value);
        }
        sim_copy(sim_method, value, sizeof sim_method);
        return;
    }
    if (place == NULL) {
        if (!hook_input(keyword, value)) {
            fprintf(stderr, "warning: %s:%d: unknown name %s\n", file, number, keyword);
        }
        return;
    }
    x = strtod(value, &end);
    if (end == value || (*end != '\0' && !isspace((unsigned char)*end)) || !isfinite(x)) {
        sim_complain(file, number, "no number for", keyword);
    }
    *place = x;
}

static void sim_read_file(char queue[][SIM_NAME], int *count, int k)
{
    char line[SIM_LINE], *keyword, *value;
    const char *name = queue[k];
    FILE *file = fopen(name, "r");
    int number = 1;
    if (file == NULL) {
        if (k == 0) {
            sim_die(SIM_WRONG, "cannot read ", name);
        }
        fprintf(stderr, "warning: cannot read %s, which is skipped\n", name);
        return;
    }
    if (!sim_line(file, line) || strcmp(sim_trim(line), "PARSFILE") != 0) {
        sim_complain(name, number, "the file does not begin with", "PARSFILE");
    }
    while (sim_line(file, line)) {
        ++number;
        keyword = sim_trim(line);
        if (*keyword == '\0' || *keyword == '*') {
            continue;
        }
        value = keyword + strcspn(keyword, " \t");
        if (*value != '\0') {
            *value++ = '\0';
            value = sim_trim(value);
        }
        if (strcmp(keyword, "END") == 0) {
            break;
        }
        if (strcmp(keyword, "TITLE") == 0) {
            sim_copy(sim_run_title, value, sizeof sim_run_title);
        } else if (strcmp(keyword, "PARSFILE") == 0) {
            sim_queue(queue, count, name, number, value);
        } else {
            sim_keyword(name, number, keyword, value);
        }
    }
    fclose(file);
}

static void sim_read(const char *name)
{
    static char queue[SIM_FILES][SIM_NAME];
    int count = 0, k;
    if (strlen(name) >= SIM_NAME) {
        sim_die(SIM_WRONG, "the name of a file is too long: ", name);
    }
    sim_copy(sim_input_file, name, sizeof sim_input_file);
    sim_copy(queue[count++], name, SIM_NAME);
    for (k = 0; k < count; ++k) {
        sim_read_file(queue, &count, k);
    }
}

static void sim_defaults(const struct sim_item *items, int count, double *shown)
{
    int i;
    for (i = 0; i < count; ++i) {
        shown[i] = items[i].shown;
    }
}

static void sim_inward(const struct sim_item *items, int count, const double *shown, double *inside)
{
    int i;
    for (i = 0; i < count; ++i) {
        inside[i] = shown[i]*items[i].factor;
    }
}

/* Show values that have changed inside; what is used is what the shown value gives when read. */
static void sim_outward(const struct sim_item *items, int count, double *shown, double *inside)
{
    int i;
    for (i = 0; i < count; ++i) {
        if (inside[i] != shown[i]*items[i].factor) {
            shown[i] = inside[i]/items[i].factor;
            inside[i] = shown[i]*items[i].factor;
        }
    }
}

static void sim_echo_items(
    FILE *file, const char *heading, const struct sim_item *items, int count, const double *shown)
{
    int i;
    if (count > 0) {
        fprintf(file, "\n* %s\n\n", heading);
    }
    for (i = 0; i < count; ++i) {
        fprintf(file, "%-15s %-24s %s (%s)\n", items[i].name, sim_number(shown[i]),
                items[i].about, items[i].unit);
    }
}

/* Write all values as they are used: a file that is itself a parameter file. */
static void sim_echo(const char *name)
{
    char temporary[SIM_NAME];
    FILE *file = sim_open(temporary, name, "w");
    fprintf(file, "PARSFILE\n* Echo file created by the simulation program of: %s\n", sim_about);
    fprintf(file, "* %s\n", sim_origin);
    fprintf(file, "* Input file: %s\n", sim_input_file[0] ? sim_input_file : "none");
    fprintf(file, "* Run was made %s\n\nTITLE %s\n", sim_date(), sim_run_title);
    fprintf(file, "\n* RUN\n\n%-15s %-24s ", "STEP", sim_number(sim_step));
    fprintf(file, "time step of the integration (s)\n%-15s %-24s ", "STOPT", sim_number(sim_stop));
    fprintf(file, "time at which the run ends (s)\n%-15s %-24s ", "IPRINT", sim_number(sim_every));
    fprintf(file, "number of time steps between outputs (counts)\n%-15s %-24s ", "METHOD", sim_method);
    fprintf(file, "midpoint or rk4\n");
    sim_echo_items(file, "PARAMETER VALUES", sim_parameters, SIM_P, sim_shown_p);
    sim_echo_items(file, "INPUTS", sim_inputs, SIM_W, sim_shown_w);
    sim_echo_items(file, "INITIAL CONDITIONS: COORDINATES", sim_coordinates, SIM_Q, sim_shown_q);
    sim_echo_items(file, "INITIAL CONDITIONS: SPEEDS", sim_speeds, SIM_U, sim_shown_u);
    hook_echo(file);
    fprintf(file, "\nEND\n");
    if (fclose(file) != 0) {
        sim_die(SIM_FAILED, "cannot write ", name);
    }
    sim_publish(temporary, name);
}

/* ---- closed loops ----------------------------------------------------------------------------- */
/* Find the shortest x with a x = b in the sense of least squares, for m rows and n columns of a.
   One-sided Jacobi rotations make the rows of a orthogonal: a = V S U'. Singular values below
   1e-6 of the largest count as zero. */
static void sim_shortest(int m, int n, double *a, const double *b, double *x)
{
    double v[(SIM_G + 1)*(SIM_G + 1)], s[SIM_G + 1], largest = 0.0;
    int i, j, k, sweep, turned = 1;
    for (i = 0; i < m; ++i) {
        for (j = 0; j < m; ++j) {
            v[i*m + j] = i == j ? 1.0 : 0.0;
        }
    }
    for (sweep = 0; sweep < 60 && turned; ++sweep) {
        turned = 0;
        for (i = 0; i < m; ++i) {
            for (j = i + 1; j < m; ++j) {
                double p = 0.0, qi = 0.0, qj = 0.0, zeta, tangent, c, d;
                for (k = 0; k < n; ++k) {
                    p += a[i*n + k]*a[j*n + k];
                    qi += a[i*n + k]*a[i*n + k];
                    qj += a[j*n + k]*a[j*n + k];
                }
                if (fabs(p) <= 1e-15*sqrt(qi*qj)) {
                    continue;
                }
                turned = 1;
                zeta = (qj - qi)/(2.0*p);
                tangent = (zeta >= 0.0 ? 1.0 : -1.0)/(fabs(zeta) + sqrt(1.0 + zeta*zeta));
                c = 1.0/sqrt(1.0 + tangent*tangent);
                d = c*tangent;
                for (k = 0; k < n; ++k) {
                    const double x_i = a[i*n + k], x_j = a[j*n + k];
                    a[i*n + k] = c*x_i - d*x_j;
                    a[j*n + k] = d*x_i + c*x_j;
                }
                for (k = 0; k < m; ++k) {
                    const double x_i = v[i*m + k], x_j = v[j*m + k];
                    v[i*m + k] = c*x_i - d*x_j;
                    v[j*m + k] = d*x_i + c*x_j;
                }
            }
        }
    }
    for (i = 0; i < m; ++i) {
        s[i] = 0.0;
        for (k = 0; k < n; ++k) {
            s[i] += a[i*n + k]*a[i*n + k];
        }
        largest = s[i] > largest ? s[i] : largest;
    }
    for (k = 0; k < n; ++k) {
        x[k] = 0.0;
    }
    for (i = 0; i < m; ++i) {
        double part = 0.0;
        if (s[i] <= 1e-12*largest || s[i] == 0.0) {
            continue;
        }
        for (k = 0; k < m; ++k) {
            part += v[i*m + k]*b[k];
        }
        for (k = 0; k < n; ++k) {
            x[k] += a[i*n + k]*(part/s[i]);
        }
    }
}

static double sim_residual(const double *g)
{
    double sum = 0.0;
    int i;
    for (i = 0; i < SIM_G; ++i) {
        sum += g[i]*g[i];
    }
    return sqrt(sum);
}

/* Return the largest residual relative to the largest entry of the Jacobian. */
static double sim_error(const double *g, const double *jacobian)
{
    double error = 0.0, size = 1e-300;
    int i;
    for (i = 0; i < SIM_G; ++i) {
        error = fabs(g[i]) > error ? fabs(g[i]) : error;
    }
    for (i = 0; i < SIM_G*SIM_FREE; ++i) {
        size = fabs(jacobian[i]) > size ? fabs(jacobian[i]) : size;
    }
    return error/size;
}

/* Move some coordinates onto the relations of position by Newton's method; a step is halved until
   the residual falls. Return what is left. */
static double sim_close(double t, double *q, const int *columns, int count, int iterations)
{
    double g[SIM_G + 1], jacobian[SIM_G*SIM_FREE + 1], part[SIM_G*SIM_FREE + 1];
    double trial[SIM_Q + 1], trial_g[SIM_G + 1], step[SIM_FREE + 1];
    int i, k, turn;
    sim_closure(t, q, g, jacobian);
    for (turn = 0; turn < iterations; ++turn) {
        double scale = 1.0, before = sim_residual(g), after;
        if (sim_error(g, jacobian) <= 1e-15) {
            break;
        }
        for (i = 0; i < SIM_G; ++i) {
            g[i] = -g[i];
            for (k = 0; k < count; ++k) {
                part[i*count + k] = jacobian[i*SIM_FREE + columns[k]];
            }
        }
        sim_shortest(SIM_G, count, part, g, step);
        do {
            memcpy(trial, q, SIM_Q*sizeof *q);
            for (k = 0; k < count; ++k) {
                trial[columns[k]] += scale*step[k];
            }
            sim_closure(t, trial, trial_g, jacobian);
            after = sim_residual(trial_g);
            scale *= 0.5;
        } while (!(after < before) && scale > 1e-3);
        if (!(after < before)) {
            break;
        }
        memcpy(q, trial, SIM_Q*sizeof *q);
        memcpy(g, trial_g, sizeof g);
    }
    sim_closure(t, q, g, jacobian);
    return sim_error(g, jacobian);
}

static void sim_all_columns(int *columns)
{
    int i;
    for (i = 0; i < SIM_FREE; ++i) {
        columns[i] = i;
    }
}

/* Close the loops at the start: computed coordinates move; all do where that is not enough. */
static void sim_assemble(double *q)
{
    double start[SIM_Q + 1];
    int all[SIM_FREE + 1];
    memcpy(start, q, SIM_Q*sizeof *q);
    sim_all_columns(all);
    if (sim_close(0.0, q, all, 0, 0) <= 1e-13) {
        return;
    }
    if (sim_close(0.0, q, sim_computed, SIM_COMPUTED, 60) <= 1e-10) {
        return;
    }
    memcpy(q, start, SIM_Q*sizeof *q);
    if (sim_close(0.0, q, all, SIM_FREE, 60) > 1e-10) {
        sim_die(SIM_FAILED, "the loops do not close from the given initial coordinates", "");
    }
    fprintf(stderr, "warning: the given coordinates did not close the loops; all were moved\n");
}

/* ---- output ----------------------------------------------------------------------------------- */
static void sim_field(FILE *file, const char *text, int width)
{
    fprintf(file, "%-*.*s", width, width, text);
}

static void sim_header(const char *name, long samples)
{
    char temporary[SIM_NAME];
    FILE *file = sim_open(temporary, name, "w");
    int i;
    fprintf(file, "ERDFILEV2.00\n%6d,%6ld,%6ld,%6d,%6d,%13.6G\n", SIM_Y, samples, samples,
            4*SIM_Y, 1, sim_step*sim_every);
    fprintf(file, "TITLE   %s\nSHORTNAM", sim_run_title);
    for (i = 0; i < SIM_Y; ++i) sim_field(file, sim_channels[i].short_name, 8);
    fprintf(file, "\nLONGNAME");
    for (i = 0; i < SIM_Y; ++i) sim_field(file, sim_channels[i].long_name, 32);
    fprintf(file, "\nUNITSNAM");
    for (i = 0; i < SIM_Y; ++i) sim_field(file, sim_channels[i].unit, 8);
    fprintf(file, "\nGENNAME ");
    for (i = 0; i < SIM_Y; ++i) sim_field(file, sim_channels[i].general, 32);
    fprintf(file, "\nRIGIBODY");
    for (i = 0; i < SIM_Y; ++i) sim_field(file, sim_channels[i].body, 32);
    fprintf(file, "\nXLABEL  Time\nXUNITS  sec\n");
    if (sim_input_file[0] == '\0') {
        fprintf(file, "HISTORY No input file (used defaults)\n");
    } else {
        fprintf(file, "HISTORY Input parameter file was %s\n", sim_input_file);
    }
    fprintf(file, "HISTORY Data generated with %s at %s\nEND\n", sim_about, sim_date());
    if (fclose(file) != 0) {
        sim_die(SIM_FAILED, "cannot write ", name);
    }
    sim_publish(temporary, name);
}

/* Write a record of 32-bit floating-point numbers, lowest byte first. */
static void sim_record(FILE *file, double t, const double *state)
{
    double y[SIM_Y + 1];
    int i;
    sim_outputs(t, state, state + SIM_Q, y);
    hook_output(t, state, state + SIM_Q, y);
    for (i = 0; i < SIM_Y; ++i) {
        const float value = (float)(y[i]/sim_channels[i].factor);
        unsigned char bytes[4];
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        bytes[0] = (unsigned char)(bits & 255u);
        bytes[1] = (unsigned char)(bits >> 8 & 255u);
        bytes[2] = (unsigned char)(bits >> 16 & 255u);
        bytes[3] = (unsigned char)(bits >> 24);
        fwrite(bytes, 1, 4, file);
    }
}

/* ---- integration ------------------------------------------------------------------------------ */
static void sim_rates(double t, const double *state, double *rate)
{
    ++sim_evaluations;
    hook_difeqn(t, state, state + SIM_Q, sim_p, sim_w);
    sim_derivative(t, state, state + SIM_Q, rate, rate + SIM_Q);
}

static void sim_advance(const double *from, double h, const double *rate, double *to)
{
    int i;
    for (i = 0; i < SIM_STATES; ++i) {
        to[i] = from[i] + h*rate[i];
    }
}

/* One step of the midpoint method: the rate at its start is given. */
static void sim_midpoint(double t, double h, double *state, const double *rate)
{
    double middle[SIM_STATES + 1], slope[SIM_STATES + 1];
    sim_advance(state, 0.5*h, rate, middle);
    sim_rates(t + 0.5*h, middle, slope);
    sim_advance(state, h, slope, state);
}

/* One step of the classical method of Runge and Kutta. */
static void sim_rk4(double t, double h, double *state, const double *rate)
{
    double trial[SIM_STATES + 1], k2[SIM_STATES + 1], k3[SIM_STATES + 1], k4[SIM_STATES + 1];
    int i;
    sim_advance(state, 0.5*h, rate, trial);
    sim_rates(t + 0.5*h, trial, k2);
    sim_advance(state, 0.5*h, k2, trial);
    sim_rates(t + 0.5*h, trial, k3);
    sim_advance(state, h, k3, trial);
    sim_rates(t + h, trial, k4);
    for (i = 0; i < SIM_STATES; ++i) {
        state[i] += h/6.0*(rate[i] + 2.0*(k2[i] + k3[i]) + k4[i]);
    }
}

static int sim_finite(const double *state)
{
    int i;
    for (i = 0; i < SIM_STATES; ++i) {
        if (!isfinite(state[i])) {
            return 0;
        }
    }
    return 1;
}

/* Integrate, and write every so many steps; the rate at the end of a step serves the next one. */
static void sim_run(double *state, const char *output)
{
    double rate[SIM_STATES + 1], t = 0.0;
    char temporary[SIM_NAME], data[SIM_NAME];
    const int rk4 = strcmp(sim_method, "rk4") == 0;
    const long every = (long)sim_every, steps = (long)ceil(sim_stop/sim_step - 1e-9);
    const clock_t started = clock();
    double spent;
    long k;
    FILE *file;
    if (strlen(output) + 16 > SIM_NAME) {
        sim_die(SIM_WRONG, "the name of a file is too long: ", output);
    }
    sprintf(data, "%s.bin", output);
    file = sim_open(temporary, data, "wb");
    sim_rates(t, state, rate);
    sim_record(file, t, state);
    for (k = 1; k <= steps; ++k) {
        (rk4 ? sim_rk4 : sim_midpoint)(t, sim_step, state, rate);
        t = (double)k*sim_step;
        if (SIM_G > 0 && sim_close(t, state, sim_corrected, SIM_CORRECTED, 4) > 1e-6 && sim_finite(state)) {
            fclose(file);
            remove(temporary);
            fprintf(stderr, "error: the loops do not stay closed at t = %g s; take shorter steps\n", t);
            exit(SIM_FAILED);
        }
        if (hook_update(t, state, state + SIM_Q, sim_p, sim_w)) {
            sim_prepare();
        }
        if (!sim_finite(state)) {
            fclose(file);
            remove(temporary);
            fprintf(stderr, "error: the motion has no finite values at t = %g s\n", t);
            exit(SIM_FAILED);
        }
        sim_rates(t, state, rate);
        if (k % every == 0) {
            sim_record(file, t, state);
        }
        if ((long long)k*10/steps != (long long)(k - 1)*10/steps) {
            printf("t = %g s\n", t);
            fflush(stdout);
        }
    }
    if (ferror(file) || fclose(file) != 0) {
        remove(temporary);
        sim_die(SIM_FAILED, "cannot write ", data);
    }
    sim_publish(temporary, data);
    sim_header(output, steps/every + 1);
    spent = (double)(clock() - started)/CLOCKS_PER_SEC;
    printf("end at t = %g s after %ld steps and %ld evaluations of the derivative\n", t, steps,
           sim_evaluations);
    printf("%.3g CPU seconds, %.3g per simulated second\n", spent, t > 0.0 ? spent/t : 0.0);
    printf("wrote %s and %s\n", output, data);
}

static void sim_check_run(void)
{
    if (!(sim_step > 0.0)) sim_die(SIM_WRONG, "STEP must be above zero", "");
    if (!(sim_stop >= 0.0)) sim_die(SIM_WRONG, "STOPT must not be below zero", "");
    if (!(sim_every >= 1.0) || sim_every != floor(sim_every) || sim_every > 1e9) {
        sim_die(SIM_WRONG, "IPRINT must be a whole number of steps, 1 or more", "");
    }
    if (sim_stop/sim_step > 2e9) sim_die(SIM_WRONG, "STOPT/STEP is more than 2e9 steps", "");
}

static void sim_usage(const char *name)
{
    printf("%s\n%s\n\n", sim_about, sim_origin);
    printf("usage: %s [PARSFILE] [-e ECHO] [-f FINAL] [-o OUTPUT] [--help]\n\n", name);
    printf("  PARSFILE   parameters and initial conditions; defaults are used without one\n");
    printf("  -e ECHO    write all values as they are used, as a parameter file\n");
    printf("  -f FINAL   write the values at the end, as a parameter file\n");
    printf("  -o OUTPUT  name of the results (%s.erd); their data go to OUTPUT.bin\n", sim_name);
}

int main(int argc, char **argv)
{
    static double state[SIM_STATES + 1];
    const char *input = NULL, *echo = NULL, *final = NULL;
    char output[SIM_NAME];
    int i;
    sprintf(output, "%.200s.erd", sim_name);
    for (i = 1; i < argc; ++i) {
        const int more = i + 1 < argc;
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            sim_usage(argv[0]);
            return 0;
        }
        if (strcmp(argv[i], "-e") == 0 && more) {
            echo = argv[++i];
        } else if (strcmp(argv[i], "-f") == 0 && more) {
            final = argv[++i];
        } else if (strcmp(argv[i], "-o") == 0 && more) {
            sim_copy(output, argv[++i], sizeof output);
        } else if (argv[i][0] == '-' || input != NULL) {
            sim_die(SIM_WRONG, "see --help; cannot use ", argv[i]);
        } else {
            input = argv[i];
        }
    }
    sim_copy(sim_run_title, sim_about, sizeof sim_run_title);
    sim_defaults(sim_parameters, SIM_P, sim_shown_p);
    sim_defaults(sim_inputs, SIM_W, sim_shown_w);
    sim_defaults(sim_coordinates, SIM_Q, sim_shown_q);
    sim_defaults(sim_speeds, SIM_U, sim_shown_u);
    if (input != NULL) {
        sim_read(input);
    }
    sim_check_run();
    sim_inward(sim_parameters, SIM_P, sim_shown_p, sim_p);
    sim_inward(sim_inputs, SIM_W, sim_shown_w, sim_w);
    sim_inward(sim_coordinates, SIM_Q, sim_shown_q, state);
    sim_inward(sim_speeds, SIM_U, sim_shown_u, state + SIM_Q);
    hook_init(0.0, state, state + SIM_Q, sim_p, sim_w);
    sim_outward(sim_parameters, SIM_P, sim_shown_p, sim_p);
    sim_outward(sim_inputs, SIM_W, sim_shown_w, sim_w);
    sim_prepare();
    if (SIM_G > 0) {
        sim_assemble(state);
    }
    sim_outward(sim_coordinates, SIM_Q, sim_shown_q, state);
    sim_outward(sim_speeds, SIM_U, sim_shown_u, state + SIM_Q);
    if (echo != NULL) {
        sim_echo(echo);
    }
    sim_run(state, output);
    if (final != NULL) {
        sim_outward(sim_parameters, SIM_P, sim_shown_p, sim_p);
        sim_outward(sim_inputs, SIM_W, sim_shown_w, sim_w);
        sim_outward(sim_coordinates, SIM_Q, sim_shown_q, state);
        sim_outward(sim_speeds, SIM_U, sim_shown_u, state + SIM_Q);
        sim_echo(final);
    }
    return 0;
}
