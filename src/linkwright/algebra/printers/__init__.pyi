from linkwright.algebra.printers.latex import latex as latex, latex_name as latex_name
from linkwright.algebra.printers.layout import tree_size as tree_size
from linkwright.algebra.printers.mathml import mathml as mathml, mathml_name as mathml_name
from linkwright.algebra.printers.names import (
    c_identifier as c_identifier,
    python_identifier as python_identifier,
)
from linkwright.algebra.printers.text import text as text
