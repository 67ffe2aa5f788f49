"""A real browser without a window, driven over the pipe of its debugging protocol."""

import json
import os
import shutil
import subprocess

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


class Browser:
    """A page in Chromium, without a network."""

    def __init__(self, profile, width=1000, height=800):
        mine, theirs = os.pipe(), os.pipe()
        flags = (
            f"--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run "
            f"--proxy-server=127.0.0.1:9 --remote-debugging-pipe --user-data-dir='{profile}' "
            f"--window-size={width},{height}"
        )
        self.process = subprocess.Popen(
            f"exec '{CHROMIUM}' {flags} about:blank 3<&{mine[0]} 4>&{theirs[1]}",
            shell=True,
            executable="/bin/bash",  # others take only file descriptors of one digit
            pass_fds=(mine[0], theirs[1]),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(mine[0])
        os.close(theirs[1])
        self.to, self.back = os.fdopen(mine[1], "wb"), os.fdopen(theirs[0], "rb")
        self.calls, self.session, self.events = 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **params):
        """Send a command of the protocol, and return its result."""
        self.calls += 1
        message = {"id": self.calls, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self.to.write(json.dumps(message).encode() + b"\0")
        self.to.flush()
        while (answer := self._read()).get("id") != self.calls:
            self.events.append(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def _read(self):
        message = bytearray()
        while (byte := self.back.read(1)) != b"\0":
            assert byte, "the browser has ended"
            message += byte
        return json.loads(message)

    def open(self, path):
        """Open a file, and wait until all of it has run."""
        self.events.clear()
        self.call("Page.navigate", url=path.as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._read())

    def run(self, script):
        """Return the value of an expression in the page, after it was drawn."""
        drawn = "new Promise(then => requestAnimationFrame(() => setTimeout(then)))"
        found = self.call(
            "Runtime.evaluate",
            expression=f"{drawn}.then(() => ({script}))",
            awaitPromise=True,
            returnByValue=True,
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def seen(self, method):
        """Return what was reported since the page was opened."""
        return [event["params"] for event in self.events if event.get("method") == method]

    def mouse(self, kind, x, y):
        """Move the mouse, or press or release its button."""
        pressed = {"button": "left", "clickCount": 1} if kind != "Moved" else {}
        self.call("Input.dispatchMouseEvent", type=f"mouse{kind}", x=x, y=y, **pressed)

    def click(self, x, y):
        """Click at a point."""
        self.mouse("Moved", x, y)
        self.mouse("Pressed", x, y)
        self.mouse("Released", x, y)

    def close(self):
        """End the browser."""
        self.to.close()
        self.back.close()
        self.process.terminate()
        self.process.wait()
