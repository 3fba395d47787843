"""Scenes: what is drawn of a mechanism or a robot, where its parts are, and how they move.

A `Scene` says what is drawn and what each part is attached to; `Poses` is the one kernel that says
where all of them are. Nothing here knows a browser.
"""
