"""Robot files of all formats: each becomes a `Description`, and a `Description` a mechanism."""
