from linkwright.formats.mjcf.reader import parse_mjcf as parse_mjcf, read_mjcf as read_mjcf
from linkwright.formats.mjcf.writer import mjcf_text as mjcf_text
