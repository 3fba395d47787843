from linkwright.heritage.indexer import Indexer as Indexer
from linkwright.heritage.indexer_driver import (
    IndexerDriver as IndexerDriver,
    IndexerTerminal as IndexerTerminal,
    SerialLine as SerialLine,
    SimulatedLine as SimulatedLine,
)
