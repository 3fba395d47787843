"""Text models (TOML): schema, reader, checks and writer."""
