"""Serves programs that train with the SDK; also a slow grader. Prints its address."""

import threading
import time

from modelmedic.probes.rehearsal.server import Server, plain
from modelmedic.probes.rehearsal.stand_in import StandIn


class WithGrader(StandIn):
    """Answers `grade/SECONDS` after that time."""

    def answer(self, verb, path, raw, headers):
        name, _, seconds = path.partition("/")
        if name == "grade":
            time.sleep(float(seconds))
            return plain({"score": 1.0})
        return super().answer(verb, path, raw, headers)


if __name__ == "__main__":
    with Server(WithGrader(result_s=0.05)) as server:
        print(server.url, flush=True)
        threading.Event().wait()
