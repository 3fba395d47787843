from linkwright.formats.dh.reader import parse_dh as parse_dh, read_dh as read_dh
from linkwright.formats.dh.writer import dh_text as dh_text
