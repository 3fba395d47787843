"""The figures and tables, a function for each."""
