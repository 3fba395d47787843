from linkwright.heritage import systolic as systolic
from linkwright.heritage.indexer import Indexer as Indexer
from linkwright.heritage.indexer_driver import (
    IndexerDriver as IndexerDriver,
    IndexerError as IndexerError,
    IndexerTerminal as IndexerTerminal,
    SerialLine as SerialLine,
    SimulatedLine as SimulatedLine,
)
