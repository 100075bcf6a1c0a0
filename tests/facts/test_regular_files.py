"""Files of this user alone."""

import stat

from modelmedic.facts.regular_files import replace_file


def test_a_file_name_without_a_folder_is_one_in_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    replace_file("run.jsonl", b"first")
    replace_file("run.jsonl", b"second")
    (written,) = tmp_path.iterdir()
    assert written.read_bytes() == b"second"
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
