"""Files for a shell: completion, and the pages of the manual."""
