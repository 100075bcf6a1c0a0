"""The real SDK against a server on this machine. Nothing here leaves the machine."""

import pytest

KEY = "tml-NOT-A-REAL-KEY-0123456789"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "heavy: needs the packages of an extra, such as tinker")


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch, tmp_path):
    """No credential or setting of the person who runs the tests takes part."""
    for name in ("TINKER_BASE_URL", "TINKER_CREDENTIAL_CMD", "HTTP_PROXY", "http_proxy",
                 "ALL_PROXY", "all_proxy"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TINKER_API_KEY", KEY)
