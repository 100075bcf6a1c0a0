"""What the modeling files of reference and port compute, read without running them."""
