"""What modules compute, with all that ports of them do differently as settings."""
