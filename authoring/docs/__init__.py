"""Documentation made from the knowledge: the content of its pages, and the formats."""
