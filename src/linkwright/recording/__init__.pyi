from linkwright.recording.erd import (
    ErdChannel as ErdChannel,
    ErdFile as ErdFile,
    read_erd as read_erd,
    write_erd as write_erd,
)
from linkwright.recording.files import (
    FORMATS as FORMATS,
    read_recording as read_recording,
    write_recording as write_recording,
)
from linkwright.recording.journal import Journal as Journal, recovered as recovered
from linkwright.recording.recording import (
    Channel as Channel,
    Recording as Recording,
    RecordingError as RecordingError,
)
