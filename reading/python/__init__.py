"""Python source: nodes of syntax trees, files, and the modules of a project. Nothing is run."""
