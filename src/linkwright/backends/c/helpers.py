"""What C99 lacks, as static functions, and the names that C99's library has taken."""

from __future__ import annotations

HELPERS: dict[str, str] = {
    "lw_sign": """/* 1, -1, or x itself where it is zero or nan */
static double lw_sign(double x)
{
    return (x > 0) ? 1 : ((x < 0) ? -1 : x);
}
""",
    "lw_min": """/* the smaller of two numbers; nan where one of them is */
static double lw_min(double a, double b)
{
    return (a != a || a < b) ? a : b;
}
""",
    "lw_max": """/* the larger of two numbers; nan where one of them is */
static double lw_max(double a, double b)
{
    return (a != a || a > b) ? a : b;
}
""",
}

_MATHEMATICS = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs
    fdim floor fma fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p log2
    logb lrint lround modf nan nearbyint nextafter nexttoward pow remainder remquo rint round
    scalbln scalbn sin sinh sqrt tan tanh tgamma trunc
    cabs cacos cacosh carg casin casinh catan catanh ccos ccosh cexp cimag clog conj cpow cproj
    creal csin csinh csqrt ctan ctanh
"""
_OTHERS = """
    abort abs atexit atof atoi atol atoll bsearch calloc div exit free getenv labs ldiv llabs lldiv
    malloc qsort rand realloc srand strtod strtof strtol strtold strtoll strtoul strtoull system
    clearerr fclose feof ferror fflush fgetc fgetpos fgets fopen fprintf fputc fputs fread freopen
    fscanf fseek fsetpos ftell fwrite getc getchar gets perror printf putc putchar puts remove
    rename rewind scanf setbuf setvbuf snprintf sprintf sscanf tmpfile tmpnam ungetc vfprintf
    vfscanf vprintf vscanf vsnprintf vsprintf vsscanf
    memchr memcmp memcpy memmove memset strcat strchr strcmp strcoll strcpy strcspn strerror strlen
    strncat strncmp strncpy strpbrk strrchr strspn strstr strtok strxfrm
    isalnum isalpha isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper iswalnum
    iswalpha iswblank iswcntrl iswdigit iswgraph iswlower iswprint iswpunct iswspace iswupper
    iswxdigit isxdigit tolower toupper towlower towupper imaxabs imaxdiv assert setjmp longjmp
    signal raise clock difftime mktime time asctime ctime gmtime localtime strftime
    isfinite isinf isnan isnormal signbit fpclassify isgreater isgreaterequal isless islessequal
    islessgreater isunordered math_errhandling float_t double_t HUGE_VAL HUGE_VALF HUGE_VALL
    INFINITY NAN FP_INFINITE FP_NAN FP_NORMAL FP_SUBNORMAL FP_ZERO FP_FAST_FMA FP_FAST_FMAF
    FP_FAST_FMAL FP_ILOGB0 FP_ILOGBNAN MATH_ERRNO MATH_ERREXCEPT
    M_E M_LOG2E M_LOG10E M_LN2 M_LN10 M_PI M_PI_2 M_PI_4 M_1_PI M_2_PI M_2_SQRTPI M_SQRT2 M_SQRT1_2
    signgam main
"""
LIBRARY = frozenset(
    {f"{name}{end}" for name in _MATHEMATICS.split() for end in ("", "f", "l")}
    | set(_OTHERS.split())
)
"""Functions and macros that compilers know: a function or a variable gets another name."""
