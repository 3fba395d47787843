/* ---- the simulation program around the equations ---------------------------------------------- */

enum { SIM_FILES = 20, SIM_LINE = 1024, SIM_NAME = 512 };
enum { SIM_FAILED = 1, SIM_WRONG = 2 };

static double sim_shown_p[SIM_P + 1], sim_shown_w[SIM_W + 1]; /* in the units of users */
static double sim_shown_q[SIM_Q + 1], sim_shown_u[SIM_U + 1];
static double sim_shown_s[SIM_S + 1], sim_shown_d[SIM_M + 1];
static char sim_given_s[SIM_S + 1], sim_given_d[SIM_M + 1]; /* whether a start was read */
static double sim_step = SIM_DEFAULT_STEP, sim_stop = SIM_DEFAULT_STOP;
static double sim_every = SIM_DEFAULT_EVERY, sim_seed = 0.0;
static int sim_method = 0;
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
    if (strcmp(keyword, "SEED") == 0) return &sim_seed;
    if ((i = sim_find(sim_parameters, SIM_P, keyword)) >= 0) return sim_shown_p + i;
    if ((i = sim_find(sim_inputs, SIM_W, keyword)) >= 0) return sim_shown_w + i;
    if ((i = sim_find(sim_coordinates, SIM_Q, keyword)) >= 0) return sim_shown_q + i;
    if ((i = sim_find(sim_speeds, SIM_U, keyword)) >= 0) return sim_shown_u + i;
    if ((i = sim_find(sim_states, SIM_S, keyword)) >= 0) {
        sim_given_s[i] = 1;
        return sim_shown_s + i;
    }
    if ((i = sim_find(sim_memory, SIM_M, keyword)) >= 0) {
        sim_given_d[i] = 1;
        return sim_shown_d + i;
    }
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
        for (sim_method = 0; sim_method < SIM_METHODS; ++sim_method) {
            if (strcmp(value, sim_methods[sim_method].name) == 0) {
                return;
            }
        }
        sim_complain(file, number, "METHOD is " SIM_METHODS_TOLD ", not", value);
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
    fprintf(file, "number of %s between outputs (counts)\n", SIM_TICKS > 0 ? "base ticks" : "time steps");
    fprintf(file, "%-15s %-24s %s\n", "METHOD", sim_methods[sim_method].name, SIM_METHODS_TOLD);
    if (SIM_NOISE > 0) {
        fprintf(file, "%-15s %-24s seed of noise (-)\n", "SEED", sim_number(sim_seed));
    }
    sim_echo_items(file, "PARAMETER VALUES", sim_parameters, SIM_P, sim_shown_p);
    sim_echo_items(file, "INPUTS", sim_inputs, SIM_W, sim_shown_w);
    sim_echo_items(file, "INITIAL CONDITIONS: COORDINATES", sim_coordinates, SIM_Q, sim_shown_q);
    sim_echo_items(file, "INITIAL CONDITIONS: SPEEDS", sim_speeds, SIM_U, sim_shown_u);
    sim_echo_items(file, "INITIAL CONDITIONS: STATES", sim_states, SIM_S, sim_shown_s);
    sim_echo_items(file, "INITIAL CONDITIONS: DISCRETE STATES", sim_memory, SIM_M, sim_shown_d);
    hook_echo(file);
    fprintf(file, "\nEND\n");
    if (fclose(file) != 0) {
        sim_die(SIM_FAILED, "cannot write ", name);
    }
    sim_publish(temporary, name);
}

/* ---- closed loops ----------------------------------------------------------------------------- */
#ifdef SIM_HAS_CLOSURE
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
    sim_compute_closure(q, sim_run.w, &t, g, jacobian);
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
            sim_compute_closure(trial, sim_run.w, &t, trial_g, jacobian);
            after = sim_residual(trial_g);
            scale *= 0.5;
        } while (!(after < before) && scale > 1e-3);
        if (!(after < before)) {
            break;
        }
        memcpy(q, trial, SIM_Q*sizeof *q);
        memcpy(g, trial_g, sizeof g);
    }
    sim_compute_closure(q, sim_run.w, &t, g, jacobian);
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

#endif

/* ---- output ----------------------------------------------------------------------------------- */
/* Return the base tick: where nothing is sampled, that is a step. */
static double sim_tick_seconds(void)
{
    return SIM_TICKS > 0 ? SIM_TICK_SECONDS : sim_step;
}

static void sim_field(FILE *file, const char *text, int width)
{
    fprintf(file, "%-*.*s", width, width, text);
}

static void sim_header(const char *name, long samples, double end)
{
    const double last = (double)(samples - 1)*sim_tick_seconds()*sim_every;
    char temporary[SIM_NAME];
    FILE *file = sim_open(temporary, name, "w");
    int i;
    fprintf(file, "ERDFILEV2.00\n%6d,%6ld,%6ld,%6d,%6d,%13.6G\n", SIM_Y, samples, samples,
            4*SIM_Y, 1, sim_tick_seconds()*sim_every);
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
    if (end > last*(1.0 + 1e-9)) {
        fprintf(file, "HISTORY Left out, as between two samples: the end, t = %.9g s\n", end);
    }
    fprintf(file, "HISTORY Data generated with %s at %s\nEND\n", sim_about, sim_date());
    if (fclose(file) != 0) {
        sim_die(SIM_FAILED, "cannot write ", name);
    }
    sim_publish(temporary, name);
}

/* Write a record of 32-bit floating-point numbers, lowest byte first. */
static void sim_write_record(FILE *file, double t, const double *x)
{
    double y[SIM_Y + 1];
    int i;
#ifdef SIM_HAS_OUTPUT
    sim_compute_output(x, sim_run.d, sim_run.w, &t, y);
#endif
    hook_output(t, x, x + SIM_Q, y);
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

/* ---- the run ---------------------------------------------------------------------------------- */
static FILE *sim_data; /* where samples go */
static long sim_samples = 0;

#ifdef SIM_HAS_RATES
/* Every evaluation of the derivative comes through here, where a hook can set the inputs. */
static void sim_rates(const double *x, const double *d, const double *p, const double *w,
    const double *t, double *rate)
{
    double inputs[SIM_W + 1];
    ++sim_evaluations;
    memcpy(inputs, w, SIM_W*sizeof *inputs);
    hook_difeqn(*t, x, x + SIM_Q, sim_p, inputs);
    memcpy(sim_run.w, inputs, SIM_W*sizeof *inputs);
    equations_derivative(x, d, p, inputs, t, rate);
}
#endif

/* Go from x to y. */
static void sim_compute_step(const double *x, const double *d, const double *w, const double *t,
    const double *h, double *y)
{
#ifndef SIM_HAS_RATES
    hook_difeqn(*t, x, x + SIM_Q, sim_p, sim_run.w);
    sim_evaluations += sim_methods[sim_method].evaluations;
#endif
    sim_methods[sim_method].step(x, d, w, t, h, y);
}

/* Write a sample of a state at the time that is set; an end between two of them is none. */
static void sim_keep_sample(double *x)
{
    if (!(sim_run.t < sim_run.end)) {
        return;
    }
    sim_write_record(sim_data, sim_run.t, x);
    ++sim_samples;
}

#ifdef SIM_HAS_LOOK
/* Tell an event. */
static void sim_log_event(int64_t i)
{
    const double t = (double)sim_run.start*sim_run.tick_seconds + sim_run.s;
    printf("%s at t = %.10g s\n", sim_event_list[i].name, t);
}
#endif

/* Call the hook behind a step. */
static void sim_stepped(void)
{
    if (hook_update(sim_run.t, sim_run.x, sim_run.x + SIM_Q, sim_p, sim_run.w)) {
        sim_prepare();
    }
}

/* ---- the loop of a run: its text is made for several runs at once, and here there is one lane ---- */
/* the loop of a run stands here */
#ifdef SIM_HAS_GUARDS
/* Let guards remember the start; their limit is SIM_LIMIT, or twice what they bound there. */
static void sim_remember(void)
{
    double size, t = 0.0, x[SIM_X + 1], d[SIM_D + 1], g[SIM_EVENTS + 1];
    sim_compute_accepted(sim_run.x, sim_run.d, sim_run.w, &t, x, d);
    memcpy(sim_run.d + SIM_M, d + SIM_M, (SIM_D - SIM_M)*sizeof *d);
    sim_run.d[SIM_M] = 0.0;
    sim_compute_events(sim_run.x, sim_run.d, sim_run.w, &t, g);
    size = sqrt(-g[SIM_EVENTS - SIM_GUARDS]);
    if (!(size < 1e3)) {
        sim_die(SIM_FAILED, "the start is a singular configuration, or too near to one", "");
    }
    sim_run.d[SIM_M] = 2.0*size > SIM_LIMIT ? 2.0*size : SIM_LIMIT;
}
#endif

/* Return where the run stands, s. */
static double sim_time(void)
{
    if (sim_run.in_gap) {
        return (double)sim_run.start*sim_run.tick_seconds + sim_run.s;
    }
    return sim_seconds(sim_run.k);
}

#ifdef SIM_LONGEST
/* Refuse to start a joint so far beyond its end stop that this would fling it. */
static void sim_check_ranges(void)
{
    size_t i;
    for (i = 0; i < sizeof sim_ranges/sizeof *sim_ranges; ++i) {
        const double at = sim_run.x[sim_ranges[i].at];
        if (at < sim_ranges[i].lower - SIM_DEPTH || at > sim_ranges[i].upper + SIM_DEPTH) {
            sim_die(SIM_WRONG, "start within the range of the joint, not beyond its end stop: ",
                    sim_coordinates[sim_ranges[i].at].name);
        }
    }
}
#endif

/* Stand at the start of a run. */
static void sim_begin(void)
{
    const double tick = sim_tick_seconds(), near = floor(sim_stop/tick + 0.5);
    const int whole = fabs(near*tick - sim_stop) <= 1e-9*sim_stop;
    int i;
    sim_run.until = whole ? (int64_t)near : (int64_t)floor(sim_stop/tick) + 1;
    sim_run.end = whole ? INFINITY : sim_stop;
    sim_run.tick_seconds = tick;
    sim_run.step_size = sim_step;
#ifdef SIM_LONGEST
    if (sim_step > SIM_LONGEST) {
        sim_run.step_size = sim_step/ceil(sim_step/SIM_LONGEST);
    }
#endif
    sim_run.every = (int64_t)sim_every;
    sim_run.seed = (uint64_t)sim_seed;
    sim_run.row_count = sim_run.log_rows = INT64_MAX;
    sim_run.watched = 1;
    for (i = 0; i < SIM_TICKS; ++i) {
        sim_run.due[i] = sim_ticks[i].offset;
    }
#ifdef SIM_HAS_LOOK
    for (i = 0; i < SIM_FOLLOWED; ++i) {
        sim_run.change[i] = LOOP_NEVER;
        sim_run.top[i] = LOOP_FAINT;
        sim_run.g[i] = sim_event_list[i].before;
    }
#endif
}

/* End the program where the run cannot go on. */
static void sim_check_status(const char *temporary)
{
    const char *what = NULL;
    double t = sim_time();
    if (sim_run.status == LOOP_NOT_FINITE) {
        what = "the motion has no finite values";
        t = sim_run.t + sim_run.h;
    } else if (sim_run.status == LOOP_GUARDED) {
        what = "the constraints become singular, and this program cannot pass there "
               "(linkwright simulate can): it stops";
    } else if (sim_run.status == LOOP_ENDLESS) {
        what = "an event happens without end: its action lets it happen again and again, and its "
               "value does not leave zero";
    } else if (sim_run.status == LOOP_TOO_SMALL) {
        what = "a step was tried again too often";
    }
    if (what != NULL) {
        fclose(sim_data);
        remove(temporary);
        fprintf(stderr, "error: %s at t = %g s\n", what, t);
        exit(SIM_FAILED);
    }
}

/* Go to the end, and tell now and then how far it is. */
static void sim_simulate(const char *output)
{
    char temporary[SIM_NAME], data[SIM_NAME];
    const clock_t started = clock();
    double spent, t;
    if (strlen(output) + 16 > SIM_NAME) {
        sim_die(SIM_WRONG, "the name of a file is too long: ", output);
    }
    sim_copy(data, output, sizeof data);
    strcat(data, ".bin");
    sim_data = sim_open(temporary, data, "wb");
    sim_begin();
    do {
        sim_run.left = sim_run.until/10 + 1;
        sim_go();
        sim_check_status(temporary);
        t = sim_time();
        if (sim_run.status == LOOP_MORE) {
            printf("t = %g s\n", t);
            fflush(stdout);
        }
    } while (sim_run.status == LOOP_MORE);
    if (ferror(sim_data) || fclose(sim_data) != 0) {
        remove(temporary);
        sim_die(SIM_FAILED, "cannot write ", data);
    }
    sim_publish(temporary, data);
    sim_header(output, sim_samples, t);
    spent = (double)(clock() - started)/CLOCKS_PER_SEC;
    printf("end at t = %g s after %ld steps and %ld evaluations of the derivative\n", t,
           (long)sim_run.steps, sim_evaluations);
    printf("%.3g CPU seconds, %.3g per simulated second\n", spent, t > 0.0 ? spent/t : 0.0);
    printf("wrote %s and %s\n", output, data);
}

static void sim_show_all(void)
{
    sim_outward(sim_parameters, SIM_P, sim_shown_p, sim_p);
    sim_outward(sim_inputs, SIM_W, sim_shown_w, sim_run.w);
    sim_outward(sim_coordinates, SIM_Q, sim_shown_q, sim_run.x);
    sim_outward(sim_speeds, SIM_U, sim_shown_u, sim_run.x + SIM_Q);
    sim_outward(sim_states, SIM_S, sim_shown_s, sim_run.x + SIM_Q + SIM_U);
    sim_outward(sim_memory, SIM_M, sim_shown_d, sim_run.d);
}

static void sim_check_run(void)
{
    if (!(sim_step > 0.0)) sim_die(SIM_WRONG, "STEP must be above zero", "");
    if (!(sim_stop >= 0.0)) sim_die(SIM_WRONG, "STOPT must not be below zero", "");
    if (!(sim_every >= 1.0) || sim_every != floor(sim_every) || sim_every > 1e9) {
        sim_die(SIM_WRONG, "IPRINT must be a whole number of steps, 1 or more", "");
    }
    if (sim_stop/sim_step > 2e9) sim_die(SIM_WRONG, "STOPT/STEP is more than 2e9 steps", "");
    if (!(sim_seed >= 0.0) || sim_seed != floor(sim_seed) || sim_seed > 9e15) {
        sim_die(SIM_WRONG, "SEED must be a whole number, 0 or more", "");
    }
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
    const char *input = NULL, *echo = NULL, *final = NULL;
    char output[SIM_NAME];
    int i;
#ifdef SIM_HAS_INITIALIZE
    double t = 0.0, x[SIM_X + 1], d[SIM_D + 1];
#endif
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
    sim_defaults(sim_states, SIM_S, sim_shown_s);
    sim_defaults(sim_memory, SIM_M, sim_shown_d);
    if (input != NULL) {
        sim_read(input);
    }
    sim_check_run();
    sim_inward(sim_parameters, SIM_P, sim_shown_p, sim_p);
    sim_inward(sim_inputs, SIM_W, sim_shown_w, sim_run.w);
    sim_inward(sim_coordinates, SIM_Q, sim_shown_q, sim_run.x);
    sim_inward(sim_speeds, SIM_U, sim_shown_u, sim_run.x + SIM_Q);
    sim_inward(sim_states, SIM_S, sim_shown_s, sim_run.x + SIM_Q + SIM_U);
    sim_inward(sim_memory, SIM_M, sim_shown_d, sim_run.d);
#ifdef SIM_HAS_INITIALIZE
    sim_compute_initialize(sim_run.x, sim_run.d, sim_run.w, &t, x, d);
    for (i = 0; i < SIM_S; ++i) {
        if (!sim_given_s[i]) sim_run.x[SIM_Q + SIM_U + i] = x[SIM_Q + SIM_U + i];
    }
    for (i = 0; i < SIM_M; ++i) {
        if (!sim_given_d[i]) sim_run.d[i] = d[i];
    }
#endif
    hook_init(0.0, sim_run.x, sim_run.x + SIM_Q, sim_p, sim_run.w);
    sim_prepare();
#ifdef SIM_HAS_CLOSURE
    sim_assemble(sim_run.x);
#endif
#ifdef SIM_LONGEST
    sim_check_ranges();
#endif
#ifdef SIM_HAS_GUARDS
    sim_remember();
#endif
    sim_show_all();
    if (echo != NULL) {
        sim_echo(echo);
    }
    sim_simulate(output);
    if (final != NULL) {
        sim_show_all();
        sim_echo(final);
    }
    return 0;
}
