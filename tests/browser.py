# SPDX-License-Identifier: MIT
"""A headless Chromium, driven through the DevTools protocol over a pair of pipes."""

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
]
PATIENCE_S = 120

Message = dict[str, Any]


def find_chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One page; `errors` gathers what went wrong in it and `requests` what it asked to load."""

    def __init__(self, profile: Path, width: int = 1400, height: int = 900) -> None:
        program = find_chromium()
        assert program
        hear, self._commands = os.pipe()
        self._answers, say = os.pipe()
        # The program reads commands from descriptor 3 and answers on 4.
        shell = f'exec "$0" "$@" 3<&{hear} 4>&{say}'
        arguments = [*FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"]
        self._process = subprocess.Popen(
            ["bash", "-c", shell, program, *arguments, "about:blank"],
            pass_fds=(hear, say),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(hear)
        os.close(say)
        self._pending = b""
        self._count = 0
        self._session: str | None = None
        self._loaded = False
        self.errors: list[str] = []
        self.requests: list[str] = []
        self._attach(width, height)

    def _attach(self, width: int, height: int) -> None:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(width, height)

    def close(self) -> None:
        os.close(self._commands)
        self._process.terminate()
        self._process.wait(PATIENCE_S)
        os.close(self._answers)

    def _send(self, method: str, parameters: Message) -> int:
        self._count += 1
        message: Message = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        text = json.dumps(message).encode() + b"\0"
        while text:
            text = text[os.write(self._commands, text) :]
        return self._count

    def call(self, method: str, **parameters: Any) -> Message:
        number = self._send(method, parameters)
        while True:
            answer = self._read()
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self._note(answer)

    def _read(self) -> Message:
        while b"\0" not in self._pending:
            ready, _, _ = select.select([self._answers], [], [], PATIENCE_S)
            assert ready, "the browser does not answer"
            data = os.read(self._answers, 1 << 16)
            assert data, "the browser went away"
            self._pending += data
        text, _, self._pending = self._pending.partition(b"\0")
        return json.loads(text)

    def _note(self, event: Message) -> None:
        method, details = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(details["exceptionDetails"])[:2000])
        elif method == "Runtime.consoleAPICalled" and details["type"] in ("error", "warning"):
            self.errors.append(json.dumps(details["args"])[:2000])
        elif method == "Log.entryAdded" and details["entry"]["level"] in ("error", "warning"):
            self.errors.append(json.dumps(details["entry"])[:2000])
        elif method == "Page.javascriptDialogOpening":
            self.errors.append("a dialog: " + details["message"])
            self._send("Page.handleJavaScriptDialog", {"accept": True})
        elif method == "Network.requestWillBeSent":
            self.requests.append(details["request"]["url"])
        elif method == "Page.loadEventFired":
            self._loaded = True

    def open(self, path: Path, fragment: str = "") -> None:
        """Loads the page from disk and waits until it has drawn."""
        self.call("Page.navigate", url="about:blank")
        self.errors.clear()
        self.requests.clear()
        self._loaded = False
        self.call("Page.navigate", url=path.as_uri() + fragment)
        while not self._loaded:
            self._note(self._read())
        self.settle()

    def evaluate(self, expression: str) -> Any:
        result = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def settle(self) -> None:
        """Waits for the next two frames: what was asked for is drawn then."""
        self.evaluate(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )

    def wait_for(self, expression: str) -> Any:
        end = time.monotonic() + PATIENCE_S
        while not (value := self.evaluate(expression)):
            assert time.monotonic() < end, f"never true: {expression}"
            self.settle()
        return value

    def text(self, selector: str) -> str:
        return self.evaluate(f"document.querySelector({json.dumps(selector)}).innerText")

    def move(self, x: float, y: float) -> None:
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.settle()

    def click(self, x: float, y: float) -> None:
        self.move(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.settle()

    def place(self, expression: str) -> tuple[float, float]:
        """The middle of an element, given by an expression."""
        box = self.evaluate(
            f"(() => {{ const b = ({expression}).getBoundingClientRect();"
            " return [b.left + b.width / 2, b.top + b.height / 2]; })()"
        )
        return box[0], box[1]

    def key(self, key: str) -> None:
        codes = {"Escape": 27, "Enter": 13, "ArrowDown": 40, "ArrowLeft": 37, "ArrowRight": 39}
        press: Message = {"key": key, "windowsVirtualKeyCode": codes.get(key, 0)}
        if len(key) == 1:
            press["text"] = key
        self.call("Input.dispatchKeyEvent", type="keyDown", **press)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)
        self.settle()

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)
        self.settle()

    def prefer(self, scheme: str) -> None:
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[feature])
        self.settle()

    def resize(self, width: int, height: int, ratio: float = 1) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=ratio,
            mobile=False,
        )

    def screenshot(self) -> bytes:
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
