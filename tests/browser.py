"""Chromium without a screen, by chromedriver, for tests of pages; the standard library only."""
import base64
import contextlib
import json
import os
import pathlib
import subprocess
import threading
import time
import urllib.error
import urllib.request

PATIENCE = 120 # A busy machine may take so many seconds for anything.


def until(what, ready):
    """Waits for ready() to be true, and returns that."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        result = ready()
        if result:
            return result
        time.sleep(0.05)
    raise AssertionError(f"{what} did not come within {PATIENCE} s")


class Browser:
    def __init__(self, work, environment=None, pictures=None):
        self.pictures = pictures
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE,
                                       env=environment, text=True)
        for line in self.driver.stdout:
            if "successfully on port" in line:
                self.at = f"http://127.0.0.1:{line.split()[-1].rstrip('.')}"
                break
        threading.Thread(target=self.driver.stdout.read, daemon=True).start()
        arguments = ["--headless=new", f"--user-data-dir={work}/profile", "--disable-dev-shm-usage",
                     "--disable-gpu", "--lang=en"] + ["--no-sandbox"] * (os.geteuid() == 0)
        self.at += "/session/" + self.ask("POST", "/session", capabilities={"alwaysMatch": {
            "goog:chromeOptions": {"args": arguments}, "goog:loggingPrefs": {"performance": "ALL"},
            "unhandledPromptBehavior": "ignore"}})["sessionId"]
        self.downloads = work / "downloads"
        self.devtools("Browser.setDownloadBehavior", behavior="allow",
                      downloadPath=str(self.downloads))

    def ask(self, method, path, **body):
        data = json.dumps(body).encode() if method == "POST" else None
        request = urllib.request.Request(self.at + path, data, method=method,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()[:500]) from None

    def devtools(self, command, **parameters):
        return self.ask("POST", "/goog/cdp/execute", cmd=command, params=parameters)

    def open(self, address, width):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=800,
                      deviceScaleFactor=1, mobile=width < 500)
        self.ask("POST", "/url", url=address)

    def run(self, script, *arguments):
        return self.ask("POST", "/execute/sync", script=script, args=arguments)

    def find(self, path):
        return self.ask("POST", "/elements", using="xpath", value=path)

    def use(self, path, what, **body):
        """Uses an element. A page may make it anew in between; then the new one is used."""
        def is_used():
            found = self.find(path)
            try:
                if found:
                    self.ask("POST", f"/element/{next(iter(found[0].values()))}/{what}", **body)
                return found
            except AssertionError as error:
                if "stale element" not in str(error):
                    raise
                return None
        until(path, is_used)

    def click(self, path):
        """Clicks as a hand does: the element must be seen, enabled, and not be covered."""
        self.use(path, "click")

    def type(self, path, text):
        self.use(path, "value", text=text)

    def keys(self, text):
        self.ask("POST", "/actions", actions=[{"type": "key", "id": "keys", "actions": [
            {"type": step, "value": key} for key in text for step in ("keyDown", "keyUp")]}])

    def shows(self, path):
        return bool(self.find(path))

    def wait(self, path):
        until(path, lambda: self.shows(path))

    def picture(self, name):
        if self.pictures:
            size = self.devtools("Page.getLayoutMetrics")["cssContentSize"]
            shot = self.devtools("Page.captureScreenshot", captureBeyondViewport=True, clip={
                "x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1})
            (pathlib.Path(self.pictures) / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))

    def requests(self):
        """Addresses of all requests since the last call."""
        log = [json.loads(entry["message"])["message"]
               for entry in self.ask("POST", "/se/log", type="performance")]
        asked = [entry["params"]["request"]["url"] for entry in log
                 if entry["method"] == "Network.requestWillBeSent"]
        own = ("chrome:", "about:", "data:") # the browser's empty page
        return [address for address in asked if not address.startswith(own)]

    def close(self):
        with contextlib.suppress(Exception):
            self.ask("DELETE", "")
        self.driver.terminate()
        self.driver.wait()
