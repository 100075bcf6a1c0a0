"""The documentation of an argument."""

import pytest

from modelmedic.reading.python.details import details
from modelmedic.reading.python.docstrings import described

STYLES = {
    "google": """Does it.

    Args:
        lr (float, *optional*, defaults to 1e-3):
            The rate
            of learning.
        name: A name: any.
        *args: The rest.

    Returns:
        Nothing: at all.
    """,
    "google with a list": """Does it.

    Args:
    - `lr`: The rate
        of learning.
    - `name`: A name: any.
    - `args`: The rest.
    """,
    "numpy": """Does it.

    Parameters
    ----------
    lr : float, optional
        The rate of
        learning.
    name
        A name: any.
    *args
        The rest.

    Returns
    -------
    nothing : None
        At all.
    """,
    "sphinx": """Does it.

    :param float lr: The rate
        of learning.
    :param name: A name: any.
    :param args: The rest.
    :returns: nothing
    """,
}


@pytest.mark.parametrize("style", STYLES)
def test_styles(style):
    known = described(STYLES[style])
    assert known["lr"] == "The rate of learning."
    assert known["name"] == "A name: any."
    assert known["args"] == "The rest."


@pytest.mark.parametrize(
    "text", ["", "Args:", "Args:\n", "Parameters\n----", ":param x:", "(" * 50_000]
)
def test_docstrings_that_say_nothing(text):
    assert described(text) == {}


SOURCE = '''
class Config:
    """The settings.

    Attributes:
        depth: How deep.
    """
    rate: float = Field(1.0, description="How fast.")
    size: int = 3  # How large.
    # How wide,
    # in all.
    width: int = 4
    name: str = "x"
    """How it is called."""
    depth: int = 1

    def check(self):
        raise ValueError(f"{self.rate} {self.size}")

class Other:
    def __init__(self, given):
        """
        Args:
            given: What is given.
        """
        raise ValueError(given)

def run(config: "Config", plain, shared):
    """
    Args:
        plain: A plain one.
    """
    raise ValueError(config.width)

def neighbour(shared):
    """
    Args:
        shared: What both take.
    """
'''


@pytest.mark.parametrize(
    ("line", "name", "doc"),
    [
        (18, "self.rate", "How fast."),
        (18, "self.size", "How large."),
        (18, "self.width", "How wide, in all."),
        (18, "self.name", "How it is called."),
        (18, "len(self.depth)", "How deep."),
        (18, "self.unknown", ""),
        (26, "given", "What is given."),
        (33, "config.width", "How wide, in all."),
        (33, "config.name.x", "How it is called."),
        (33, "type(plain)", "A plain one."),
        (33, "shared", "What both take. (as neighbour says)"),
        (33, "nothing", ""),
        (1, "shared", ""),
    ],
)
def test_what_is_documented_at_a_place(line, name, doc):
    assert details(SOURCE.encode(), line).document(name) == doc


def test_names_and_statements():
    here = details(b"@mark\ndef f(a):\n    if a:\n        x = go(\n            a)\n", 5)
    assert (here.qualified, here.statement(5)) == ("f", "x = go( a)")
    assert here.statement(99) == ""
    assert details(b"x = 1\n", 1).qualified == ""
