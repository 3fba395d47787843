"""AUTOSIM: descriptions of multibody systems in its own Lisp (Sayers' thesis, appendix A)."""
