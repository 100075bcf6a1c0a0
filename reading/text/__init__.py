"""Text within bounds: files of lines, JSON and TOML, log lines, exceptions and tracebacks."""
