"""What the Makefile runs before there is an environment to run in."""
