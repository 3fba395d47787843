/* ---- the simulation program around the equations ---------------------------------------------- */

enum { SIM_FILES = 20, SIM_LINE = 1024, SIM_NAME = 512 };
enum { SIM_FAILED = 1, SIM_WRONG = 2 };
#define SIM_ROUNDING 1e-13
#define SIM_MARK 1e-20
#define SIM_FAINT 1e-100
#define SIM_INSTANT 1e-15
enum { SIM_WANTED = 3 }; /* where the memory of events says which size to try next */

static double sim_shown_p[SIM_P + 1], sim_shown_w[SIM_W + 1]; /* in the units of users */
static double sim_shown_q[SIM_Q + 1], sim_shown_u[SIM_U + 1];
static double sim_shown_s[SIM_S + 1], sim_shown_d[SIM_M + 1];
static char sim_given_s[SIM_S + 1], sim_given_d[SIM_M + 1]; /* whether a start was read */
static double sim_x[SIM_X + 1], sim_d[SIM_D + 1]; /* states; discrete states and held outputs */
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
static void sim_record(FILE *file, double t)
{
    double y[SIM_Y + 1];
    int i;
#ifdef SIM_HAS_OUTPUT
    sim_output(t, sim_x, sim_d, y);
#endif
    hook_output(t, sim_x, sim_x + SIM_Q, y);
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
/* Time is a number of base ticks plus s seconds inside the gap between two things that are due. Gaps
   end at whole ticks and are divided into equal steps; only the end of a run may lie between two. */
static int64_t sim_due[SIM_TICKS + 1], sim_until, sim_sample;
static double sim_end, sim_y[SIM_X + 1], sim_x_new[SIM_X + 1], sim_d_new[SIM_D + 1];
static double sim_g[SIM_EVENTS + 1], sim_g_new[SIM_EVENTS + 1], sim_turn[SIM_FOLLOWED + 1];
static double sim_top[SIM_FOLLOWED + 1], sim_changed[SIM_FOLLOWED + 1], sim_m[SIM_MEMORY + 1];
static int sim_fired[SIM_FOLLOWED + 1], sim_events_known = 0;
static long sim_steps = 0;

#ifdef SIM_HAS_RATES
/* Every evaluation of the derivative comes through here, where a hook can set the inputs. */
static void sim_rates(const double *x, const double *d, const double *p, const double *w,
    const double *t, double *rate)
{
    double inputs[SIM_W + 1];
    ++sim_evaluations;
    memcpy(inputs, w, SIM_W*sizeof *inputs);
    hook_difeqn(*t, x, x + SIM_Q, sim_p, inputs);
    memcpy(sim_w, inputs, SIM_W*sizeof *inputs);
    equations_derivative(x, d, p, inputs, t, rate);
}
#endif

static void sim_fail(FILE *file, const char *temporary, const char *what, double t)
{
    fclose(file);
    remove(temporary);
    fprintf(stderr, "error: %s at t = %g s\n", what, t);
    exit(SIM_FAILED);
}

/* Take over states that were computed anew. */
static void sim_change(void)
{
    memcpy(sim_x, sim_x_new, SIM_X*sizeof *sim_x);
    memcpy(sim_d, sim_d_new, SIM_D*sizeof *sim_d);
    sim_events_known = 0;
}

/* Run what is due at a tick, in order. */
static void sim_run_ticks(int64_t k)
{
    double n[SIM_NOISE + 2] = {0.0}, made[SIM_MADE + 1] = {0.0};
    int i, j;
    for (i = 0; i < SIM_TICKS; ++i) {
        if (sim_due[i] != k) {
            continue;
        }
        for (j = 0; j < sim_ticks[i].streams; ++j) {
            lw_uniform((uint64_t)sim_seed, sim_streams[i][j], 0u, (uint64_t)k, n + 2*j);
        }
        sim_run_tick(i, (double)k*SIM_TICK_SECONDS, (double)k, sim_x, sim_d, n, made);
        for (j = 0; j < sim_ticks[i].slots; ++j) {
            sim_d[sim_slots[i][j]] = made[j];
        }
        sim_due[i] += sim_ticks[i].every;
        sim_events_known = 0;
    }
}

/* Return whether an event went through zero from g to a value that is later. */
static int sim_jumped(int i, double after)
{
    const double before = sim_g[i], turn = sim_turn[i];
    const int direction = sim_event_list[i].direction;
    const int up = (before < 0.0 && after >= 0.0) || (before == 0.0 && turn < 0.0 && after > 0.0);
    const int down = (before > 0.0 && after <= 0.0) || (before == 0.0 && turn > 0.0 && after < 0.0);
    return (direction >= 0 && up) || (direction <= 0 && down);
}

/* Evaluate the events of a state. */
static void sim_look_at(double t, const double *x, double *g)
{
#ifdef SIM_HAS_EVENTS
    sim_events(t, x, sim_d, g);
#else
    (void)t, (void)x, (void)g;
#endif
}

/* Go from x to y. */
static void sim_go(double t, double h)
{
#ifndef SIM_HAS_RATES
    hook_difeqn(t, sim_x, sim_x + SIM_Q, sim_p, sim_w);
    sim_evaluations += sim_methods[sim_method].evaluations;
#endif
    sim_methods[sim_method].step(t, h, sim_x, sim_d, sim_y);
}

static int sim_finite(const double *x)
{
    int i;
    for (i = 0; i < SIM_X; ++i) {
        if (!isfinite(x[i])) {
            return 0;
        }
    }
    return 1;
}

/* Tell an event and run its action; return 1 where it ends the run. */
static int sim_happened(int i, double t)
{
    printf("%s at t = %.10g s\n", sim_event_list[i].name, t);
    if (sim_event_list[i].action) {
        sim_fired[i] = 1;
        sim_run_action(i, t, sim_x, sim_d, sim_x_new, sim_d_new);
        sim_change();
    }
    return sim_event_list[i].terminal;
}

/* Evaluate events at x where they are not known; what has jumped through zero happens, once at an
   instant. Return 1 where one ends the run. */
static int sim_know_events(double t)
{
    int i, ended = 0;
    if (SIM_FOLLOWED == 0 || sim_events_known) {
        return 0;
    }
    while (!sim_events_known) {
        sim_look_at(t, sim_x, sim_g_new);
        sim_events_known = 1;
#ifdef SIM_HAS_TERMS
        for (i = 0; i < SIM_FOLLOWED && sim_top[i] > SIM_FAINT; ++i) {
        }
        if (i < SIM_FOLLOWED) { /* at the start they are as large as their terms */
            double size[SIM_FOLLOWED + 1];
            sim_terms(t, sim_x, sim_d, size);
            for (i = 0; i < SIM_FOLLOWED; ++i) {
                sim_top[i] = sim_top[i] > SIM_FAINT ? sim_top[i] : size[i];
            }
        }
#endif
        for (i = 0; i < SIM_FOLLOWED; ++i) {
            const double size = fabs(sim_g_new[i]), noise = sim_m[SIM_MEMORY - SIM_FOLLOWED + i];
            const double bound = sim_top[i]*SIM_ROUNDING + fabs(t*sim_turn[i])*SIM_INSTANT;
            if (sim_fired[i] && (size <= bound || size <= noise)) {
                sim_g_new[i] = 0.0; /* its own action has put it there: it leaves by its rate */
            } else if (!sim_fired[i] && size <= bound
                       && (sim_g[i]*sim_g_new[i] < 0.0
                           || fabs(sim_g[i]) <= (size > 0.0 ? 2.0*SIM_MARK*sim_top[i] : bound))) {
                sim_g_new[i] = sim_g[i]; /* zero within rounding: it stays on its side */
            }
            if (!sim_fired[i] && sim_jumped(i, sim_g_new[i])) {
                ended = sim_happened(i, t) || ended;
            }
        }
        memcpy(sim_g, sim_g_new, sizeof sim_g);
        for (i = 0; i < SIM_FOLLOWED; ++i) {
            sim_top[i] = fabs(sim_g[i]) > sim_top[i] ? fabs(sim_g[i]) : sim_top[i];
        }
    }
    memset(sim_fired, 0, sizeof sim_fired);
    return ended;
}

#ifdef SIM_HAS_LOOK
/* Rates of events at a state. */
static void sim_rate_events(double t, const double *x, double *f, double *r)
{
    sim_slope(t, x, sim_d, f);
#ifdef SIM_HAS_TURNS
    sim_turns(t, x, sim_d, f, r);
#else
    (void)r;
#endif
}

/* Look at the events of the step from x to y, which ends at a time; return whether it is taken. */
static int sim_follow(double t, double h, double ends, double *verdict, double *hit, int *looked)
{
    double calm, top[SIM_FOLLOWED + 1], change[SIM_FOLLOWED + 1], middle[SIM_EVENTS + 1];
    double f[SIM_X + 1], y_f[SIM_X + 1] = {0.0}, z[SIM_X + 1], m[SIM_MEMORY + 1];
    double turn_new[SIM_FOLLOWED + 1] = {0.0};
    const int whole = sim_m[SIM_WANTED] == 0.0;
    int i;
    sim_calm(sim_g, sim_g_new, sim_changed, sim_top, &calm, top, change);
    if (!(calm > 0.0 && whole)) {
        const double some = fabs(t)*1.5e-14 + 1e-15, near = some < h/64.0 ? some : h/64.0;
        sim_rate_events(t + near, sim_x, f, sim_turn); /* rates may jump at the ends of a step */
        sim_rate_events(ends - near, sim_y, y_f, turn_new);
        sim_middle(h, sim_x, sim_y, f, y_f, z);
        sim_look_at(t + h*0.5, z, middle);
        sim_look(t, h, sim_g, middle, sim_g_new, sim_turn, turn_new, sim_top, &calm, sim_m, m, hit,
                 verdict);
        memcpy(sim_m, m, SIM_MEMORY*sizeof *m);
        *looked = 1;
    }
    if (whole) {
        memcpy(sim_changed, change, SIM_FOLLOWED*sizeof *change);
        memcpy(sim_top, top, SIM_FOLLOWED*sizeof *top);
    }
    if (!(verdict[0] > 0.0)) {
        return 0;
    }
    if (verdict[2] > 0.0) { /* the state goes behind the event */
        for (i = 0; i < SIM_X; ++i) {
            sim_y[i] = sim_y[i] + verdict[3]*y_f[i];
        }
    }
    return 1;
}
#endif

#ifdef SIM_HAS_GUARDS
/* Let guards remember the start; their limit is SIM_LIMIT, or twice what they bound there. */
static void sim_remember(void)
{
    double size;
    sim_accepted(0.0, sim_x, sim_d, sim_x_new, sim_d_new);
    memcpy(sim_d + SIM_M, sim_d_new + SIM_M, (SIM_D - SIM_M)*sizeof *sim_d);
    sim_d[SIM_M] = 0.0;
    sim_look_at(0.0, sim_x, sim_g);
    size = sqrt(-sim_g[SIM_EVENTS - SIM_GUARDS]);
    if (!(size < 1e3)) {
        sim_die(SIM_FAILED, "the start is a singular configuration, or too near to one", "");
    }
    sim_d[SIM_M] = 2.0*size > SIM_LIMIT ? 2.0*size : SIM_LIMIT;
    memset(sim_g, 0, sizeof sim_g);
}
#endif

/* Go through the gap from tick k to a target; return 1 where an event ended the run. */
static int sim_gap(FILE *file, const char *temporary, int64_t k, int64_t target, double *reached)
{
    const double tick = sim_tick_seconds(), begin = (double)k*tick;
    const double whole = (double)(target - k)*tick, rest = sim_end - begin;
    const double span = whole < rest ? whole : rest;
    const double parts = ceil(span/sim_step - 1e-9), grid = parts > 1.0 ? parts : 1.0;
    const double next = (double)target*tick, due = next < sim_end ? next : sim_end;
    double s = 0.0, j = 0.0;
    int i, ended;
    while (j < grid) {
        const double goal = (j + 1.0)/grid*span, t = begin + s, left = goal - s;
        double h = s == j/grid*span ? span/grid : left, ends, hit[SIM_FOLLOWED + 1] = {0.0};
        double verdict[5] = {1.0, 0.0, 0.0, 0.0, 0.0};
        int last = 1, looked = 0;
        if (!(s < goal)) {
            j += 1.0;
            continue;
        }
        if (sim_know_events(t)) {
            return 1;
        }
        if (sim_m[SIM_WANTED] > 0.0) {
            last = sim_m[SIM_WANTED] >= left;
            h = last ? left : sim_m[SIM_WANTED];
        }
        sim_go(t, h);
        if (!sim_finite(sim_y)) {
            sim_fail(file, temporary, "the motion has no finite values", t + h);
        }
        ends = !last ? begin + (s + h) : j + 1.0 < grid ? begin + goal : due;
        sim_look_at(ends, sim_y, sim_g_new);
        for (i = SIM_FOLLOWED; i < SIM_EVENTS; ++i) {
            if (!(sim_g_new[i] > 0.0)) {
                sim_fail(file, temporary, "the constraints become singular, and this program cannot "
                         "pass there (linkwright simulate can): it stops", t);
            }
        }
#ifdef SIM_HAS_LOOK
        if (!sim_follow(t, h, ends, verdict, hit, &looked)) {
            continue;
        }
#endif
        s = last ? goal : s + h;
        if (verdict[2] > 0.0) {
            s = s + verdict[3] < goal ? s + verdict[3] : goal;
        }
        *reached = begin + s;
        memcpy(sim_x, sim_y, SIM_X*sizeof *sim_x);
#ifdef SIM_HAS_ACCEPTED
        sim_accepted(begin + s, sim_x, sim_d, sim_x_new, sim_d_new);
        sim_change();
#endif
        ++sim_steps;
        if (hook_update(begin + s, sim_x, sim_x + SIM_Q, sim_p, sim_w)) {
            sim_prepare();
        }
        memcpy(sim_g, sim_g_new, sizeof sim_g);
        if (looked) { /* the memory has the values, behind an event too */
            memcpy(sim_g, sim_m + (SIM_MEMORY - 3*SIM_FOLLOWED), SIM_FOLLOWED*sizeof *sim_g);
        }
        for (i = 0, ended = 0; i < SIM_FOLLOWED; ++i) {
            if (hit[i] > 0.0) {
                ended = sim_happened(i, begin + s) || ended;
            }
        }
        if (verdict[4] > 0.0) {
            sim_fail(file, temporary, "an event happens without end: its action lets it happen again "
                     "and again, and its value does not leave zero", begin + s);
        }
        if (ended) {
            return 1;
        }
    }
    return 0;
}

/* Record a sample that is due. */
static long sim_sampled(FILE *file, int64_t k, int64_t every)
{
    const double t = (double)k*sim_tick_seconds();
    if (sim_sample != k) {
        return 0;
    }
    if (t > sim_end) {
        return 0;
    }
    sim_record(file, t);
    sim_sample += every;
    return 1;
}

/* Go from tick to tick to the end, and write a sample every so many of them. */
static void sim_run(const char *output)
{
    char temporary[SIM_NAME], data[SIM_NAME];
    const double tick = sim_tick_seconds(), near = floor(sim_stop/tick + 0.5);
    const int64_t every = (int64_t)sim_every;
    const clock_t started = clock();
    const int whole = fabs(near*tick - sim_stop) <= 1e-9*sim_stop;
    double spent, t = 0.0;
    int64_t k = 0;
    long samples = 0;
    int i, ended = 0;
    FILE *file;
    if (strlen(output) + 16 > SIM_NAME) {
        sim_die(SIM_WRONG, "the name of a file is too long: ", output);
    }
    sim_copy(data, output, sizeof data);
    strcat(data, ".bin");
    file = sim_open(temporary, data, "wb");
    sim_until = whole ? (int64_t)near : (int64_t)floor(sim_stop/tick) + 1;
    sim_end = whole ? INFINITY : sim_stop;
    for (i = 0; i < SIM_TICKS; ++i) {
        sim_due[i] = sim_ticks[i].offset;
    }
    for (i = 0; i < SIM_FOLLOWED; ++i) {
        sim_changed[i] = 1e300; /* not known */
        sim_top[i] = 1e-100;
        sim_g[i] = sim_event_list[i].before;
    }
    while (!ended) {
        int64_t target = sim_until;
        if (k < sim_until || whole) {
            sim_run_ticks(k);
        }
        if (sim_know_events((double)k*tick < sim_end ? (double)k*tick : sim_end)) {
            break;
        }
        samples += sim_sampled(file, k, every);
        if (k >= sim_until) {
            break;
        }
        for (i = 0; i < SIM_TICKS; ++i) {
            target = sim_due[i] < target ? sim_due[i] : target;
        }
        target = sim_sample < target ? sim_sample : target;
        ended = sim_gap(file, temporary, k, target, &t);
        if ((double)target*10.0/(double)sim_until >= floor((double)k*10.0/(double)sim_until) + 1.0) {
            printf("t = %g s\n", t);
            fflush(stdout);
        }
        k = target;
    }
    if (ferror(file) || fclose(file) != 0) {
        remove(temporary);
        sim_die(SIM_FAILED, "cannot write ", data);
    }
    sim_publish(temporary, data);
    sim_header(output, samples, t);
    spent = (double)(clock() - started)/CLOCKS_PER_SEC;
    printf("end at t = %g s after %ld steps and %ld evaluations of the derivative\n", t, sim_steps,
           sim_evaluations);
    printf("%.3g CPU seconds, %.3g per simulated second\n", spent, t > 0.0 ? spent/t : 0.0);
    printf("wrote %s and %s\n", output, data);
}

static void sim_show_all(void)
{
    sim_outward(sim_parameters, SIM_P, sim_shown_p, sim_p);
    sim_outward(sim_inputs, SIM_W, sim_shown_w, sim_w);
    sim_outward(sim_coordinates, SIM_Q, sim_shown_q, sim_x);
    sim_outward(sim_speeds, SIM_U, sim_shown_u, sim_x + SIM_Q);
    sim_outward(sim_states, SIM_S, sim_shown_s, sim_x + SIM_Q + SIM_U);
    sim_outward(sim_memory, SIM_M, sim_shown_d, sim_d);
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
    sim_inward(sim_inputs, SIM_W, sim_shown_w, sim_w);
    sim_inward(sim_coordinates, SIM_Q, sim_shown_q, sim_x);
    sim_inward(sim_speeds, SIM_U, sim_shown_u, sim_x + SIM_Q);
    sim_inward(sim_states, SIM_S, sim_shown_s, sim_x + SIM_Q + SIM_U);
    sim_inward(sim_memory, SIM_M, sim_shown_d, sim_d);
#ifdef SIM_HAS_INITIALIZE
    sim_initialize(0.0, sim_x, sim_d, sim_x_new, sim_d_new);
    for (i = 0; i < SIM_S; ++i) {
        if (!sim_given_s[i]) sim_x[SIM_Q + SIM_U + i] = sim_x_new[SIM_Q + SIM_U + i];
    }
    for (i = 0; i < SIM_M; ++i) {
        if (!sim_given_d[i]) sim_d[i] = sim_d_new[i];
    }
#endif
    hook_init(0.0, sim_x, sim_x + SIM_Q, sim_p, sim_w);
    sim_prepare();
#ifdef SIM_HAS_CLOSURE
    sim_assemble(sim_x);
#endif
#ifdef SIM_HAS_GUARDS
    sim_remember();
#endif
    sim_show_all();
    if (echo != NULL) {
        sim_echo(echo);
    }
    sim_run(output);
    if (final != NULL) {
        sim_show_all();
        sim_echo(final);
    }
    return 0;
}
