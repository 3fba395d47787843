"""Systems: mechanisms with everything that acts on them, flattened to Programs."""
