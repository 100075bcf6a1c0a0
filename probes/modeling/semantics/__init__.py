"""The computations of the modeling files of reference and port, read without running them."""
