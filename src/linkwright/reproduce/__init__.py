"""Figures and tables of five documents by name: run, drawn, and compared with what is printed.

`figures.toml` lists them all: those that are made name the function that makes them, a module of
`linkwright.reproduce.entries`, the others say why they are not made yet. To add one, write a
function that returns a `Reproduction` and name it there.
"""
