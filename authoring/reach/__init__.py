"""The facts that each rule needs, and the probes and questions that can give them."""
