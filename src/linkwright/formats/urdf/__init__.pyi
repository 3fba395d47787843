from linkwright.formats.urdf.reader import (
    parse_urdf as parse_urdf,
    read_urdf as read_urdf,
    urdf_description as urdf_description,
)
from linkwright.formats.urdf.writer import urdf_text as urdf_text
