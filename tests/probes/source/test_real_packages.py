"""Every message of the installed packages, made up from its template, is found again."""

from importlib.util import find_spec

import pytest

from modelmedic.reading.packages.environments import own_site_folder
from modelmedic.reading.packages.index import open_index
from modelmedic.reading.python.parts import has_words

# click is always there.
PACKAGES = (
    "click",
    pytest.param("tinker", marks=pytest.mark.heavy),
    pytest.param("tinker_cookbook", marks=pytest.mark.heavy),
)
SHARE = 0.99


def made_up(site):
    return "".join(f"value{at}" if at % 2 else part for at, part in enumerate(site.parts))


def finds(index, site):
    """Whether the best matches have a site of the template; what else a report says about a message
    (the class of an exception, the logger of a line) is known."""
    exception = site.exception_name if site.kind in ("raise", "assert") else None
    found = index.look_up(made_up(site), exception=exception, module=site.module)
    best = [match for match in found if match.score == found[0].score]
    return any(match.site.parts[::2] == site.parts[::2] for match in best)


@pytest.mark.parametrize("package", PACKAGES)
def test_made_up_messages_are_found(package, tmp_path):
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    index = open_index(own_site_folder(), [package], cache=str(tmp_path))
    spoken = [site for site in index.sites(package) if has_words(site.parts)]
    missed = [f"{site.file}:{site.line}: {site.template}" for site in spoken
              if not finds(index, site)]  # fmt: skip
    assert len(spoken) > 50
    assert len(missed) <= (1 - SHARE) * len(spoken), "\n".join(missed)


@pytest.mark.parametrize("package", PACKAGES)
def test_the_place_of_each_message_is_known(package, tmp_path):
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    index = open_index(own_site_folder(), [package], cache=str(tmp_path))
    for site in index.sites(package):
        assert site in index.at(f"/env/lib/site-packages/{site.file}", site.line)
