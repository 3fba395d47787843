"""Files of mechanisms and robots, read and written.

Text models in TOML are `linkwright.formats.text.files`. Robot files of all formats become a
`Description` (`linkwright.formats.robot.description`); `linkwright.formats.robot.files` lists the
formats.
"""
