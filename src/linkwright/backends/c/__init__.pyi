from linkwright.backends.c.backend import compile_c as compile_c
from linkwright.backends.c.file import c_source as c_source
