"""Files of mechanisms and robots, read and written.

Text models in TOML are `linkwright.formats.text`. Robot files of all formats become a `Description`
(`linkwright.formats.description`); `linkwright.formats.robot_files` lists the formats.
"""
