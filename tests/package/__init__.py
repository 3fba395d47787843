"""What holds for the package as a whole, across its rooms."""
