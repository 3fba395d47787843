"""What tests share: machines, browsers, processes, stand-ins."""
