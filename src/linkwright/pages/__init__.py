"""Pages that play a motion offline, in one HTML file each."""
