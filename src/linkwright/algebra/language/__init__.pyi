from linkwright.algebra.language.meaning import (
    parse as parse,
    quantity as quantity,
    resolve as resolve,
)
from linkwright.algebra.language.scope import Scope as Scope, SymbolScope as SymbolScope
from linkwright.algebra.language.syntax import Formula as Formula, read as read
from linkwright.algebra.language.tokens import LanguageError as LanguageError
