"""Seeing mechanisms move: scenes, playback in the browser, and pages that play offline.

A `Scene` says what is drawn and where its parts hang; `Poses` is the one kernel that says where all
of them are; a `Take` is a motion of a scene. `page` writes a take into one HTML file, and the
studio serves it with Viser.
"""
