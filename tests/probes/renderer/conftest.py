"""Marks of these tests."""


def pytest_configure(config):
    config.addinivalue_line("markers", "heavy: needs the optional packages of the extras")
