"""What Sphinx makes the site with; `make docs` runs it (`scripts/book`)."""

from __future__ import annotations

from pathlib import Path

from linkwright.version import __version__

project = "Linkwright"
author = "The Linkwright authors"
copyright = "The Linkwright authors"  # noqa: A001
version = release = __version__
html_title = f"Linkwright {__version__}"

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist", "attrs_block"]
myst_heading_anchors = 4
nitpicky = False  # most types of signatures have pages, not all
suppress_warnings = ["ref.python"]  # Task of tasks and Task of laboratories
exclude_patterns = ["_*"]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {"navigation_with_keys": True}  # no link to an edit page, none to a source
html_copy_source = html_show_sourcelink = False
html_last_updated_fmt = None
html_show_search_summary = False  # those are fetched, which file:// forbids
html_search_scorer = str(Path(__file__).with_name("_static") / "scorer.js")
smartquotes = False  # '30 deg' and --json stand as they are typed
html_permalinks_icon = "#"
pygments_style = "default"
pygments_dark_style = "monokai"
highlight_language = "text"
python_display_short_literal_types = True
python_maximum_signature_line_length = 88
toc_object_entries = False
