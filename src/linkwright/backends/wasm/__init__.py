"""WebAssembly: native text of a run as a module that a browser runs."""
