"""The app as a person starts it: `discreet app` in a process of its own."""

import os
import re
import signal
import subprocess
import sys


class Server:
    """`discreet app` in a process of its own."""

    def __init__(self, workspace, *arguments, **streams):
        self.command = [sys.executable, "-m", "discreet", "app", *map(str, arguments)]
        self.command += ["--workspace", str(workspace), "--no-browser"]
        self.streams = streams
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            self.command, stdout=subprocess.PIPE, text=True, **self.streams
        )
        line = self.process.stdout.readline()
        self.url = re.search(r"http\S+", line).group(0)
        self.base = self.url.split("/?")[0]

    def kill(self):
        """End it without a warning, as a crash would."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)
