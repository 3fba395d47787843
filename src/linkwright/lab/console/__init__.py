"""The console of a laboratory: one table of commands for prompt, scripts, sockets and page."""
