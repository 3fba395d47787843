"""Systems of equations with parameters: solutions tracked, all of them found."""
