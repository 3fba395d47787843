"""Linkwright turns the description of a mechanism into a small and fast program that simulates it.

``import linkwright as lw`` is cheap: a public name is imported from its home when it is first used.
To publish a name, import it in `__init__.pyi`, which is read at run time and by type checkers.
"""

from linkwright.base.hooks import fill
from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)

fill(  # what lower rooms ask of higher ones
    derive="linkwright.equations:derive",
    derived_outputs="linkwright.equations.derived_outputs:DERIVED",
    kalman="linkwright.linear.estimation:kalman",
    load="linkwright.doors:load",
    origin_of="linkwright.formats.origins:origin_of",
    page="linkwright.studio.display:page",
    page_text="linkwright.studio.display:text_of_page",
    public_name="linkwright:__getattr__",
    reply_to="linkwright.equations.replies:reply_to",
    read_any="linkwright.formats.text.files:read_any",
    result_figure="linkwright.recording.results:figure",
    rerun_cell="linkwright.server.recorded:run_again",
    rerun_laboratory="linkwright.lab.reruns:run_again",
    save_result="linkwright.recording.results:save",
    show="linkwright.studio.display:show",
    video="linkwright.studio.display:video",
    write_model="linkwright.formats.text.files:write_model",
)
