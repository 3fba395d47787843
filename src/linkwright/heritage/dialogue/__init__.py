"""The dialogue that defines, analyzes and postprocesses a robot, as the report ROBSIM has it."""
