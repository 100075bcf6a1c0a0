"""The formulas of modules, with all deviations of ports as settings."""
