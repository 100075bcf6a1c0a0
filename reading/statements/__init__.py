"""Statements: the values of declared observables that a text mentions, in any form."""
