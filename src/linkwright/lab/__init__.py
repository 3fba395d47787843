"""The laboratory: servos, tasks, a console and a recorder around a robot, simulated or real."""
