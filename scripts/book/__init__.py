"""The site of the documentation: `make docs` builds it under `build/docs`."""
