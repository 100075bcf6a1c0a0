"""Releases of packages, installed or downloaded: modules, sites, messages. Nothing is run."""
