"""A stream that passes for a terminal and keeps what is written to it."""

import io


class Terminal(io.StringIO):
    """A terminal, which raises the error of a closed file once it is closed."""

    def isatty(self):
        return not super().isatty()
