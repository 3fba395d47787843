"""What every room stands on: errors, arguments, files, caches, hooks, imports on first use."""
