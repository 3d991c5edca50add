"""Looks at a page in a headless Chromium, over its debugging protocol.

usage: check.py CHROMIUM CALIPERS FOLDER [--bench]

Pages are made with CALIPERS and kept below FOLDER, with a screenshot of each state that is looked at. Nothing but the standard
library is needed: the protocol is JSON over a WebSocket, of which this speaks as much as it takes.
"""

import base64
import json
import os
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"
LONG = "All work and no play makes a long answer. " * 4800  # about 200 KB


class Socket:
    """A WebSocket that sends and receives whole texts (RFC 6455)."""

    def __init__(self, address):
        host, _, path = address.removeprefix("ws://").partition("/")
        name, _, port = host.partition(":")
        self.stream = socket.create_connection((name, int(port)), timeout=60)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"GET /{path} HTTP/1.1", f"Host: {host}", "Upgrade: websocket", "Connection: Upgrade"]
        lines += [f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", "", ""]
        self.stream.sendall("\r\n".join(lines).encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += self.stream.recv(1)
        if b" 101 " not in answer.split(b"\r\n")[0]:
            raise RuntimeError(f"no WebSocket: {answer!r}")

    def send(self, text):
        payload, mask = text.encode(), os.urandom(4)
        size = len(payload)
        head = b"\x81" + (bytes([0x80 | size]) if size < 126 else b"\xfe" + struct.pack(">H", size) if size < 65536 else b"\xff" + struct.pack(">Q", size))
        self.stream.sendall(head + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload)))

    def exactly(self, count):
        parts = bytearray()
        while len(parts) < count:
            part = self.stream.recv(min(1 << 20, count - len(parts)))
            if not part:
                raise RuntimeError("the browser went away")
            parts += part
        return bytes(parts)

    def receive(self):
        whole = b""
        while True:
            first, second = self.exactly(2)
            size = second & 0x7F
            if size >= 126:
                size = struct.unpack(">H" if size == 126 else ">Q", self.exactly(2 if size == 126 else 8))[0]
            payload = self.exactly(size)
            if first & 0x0F in (0, 1, 2):
                whole += payload
                if first & 0x80:
                    return whole.decode()


class Page:
    """A tab of the browser."""

    def __init__(self, socket, domains=("Page", "Runtime", "Network", "Log", "Accessibility")):
        self.socket, self.last, self.events = socket, 0, []
        for domain in domains:
            self.ask(domain + ".enable")

    def ask(self, method, **params):
        self.last += 1
        self.socket.send(json.dumps({"id": self.last, "method": method, "params": params}))
        while True:
            message = json.loads(self.socket.receive())
            if message.get("id") == self.last:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def do(self, script):
        """The value of an expression in the page."""
        found = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(f"{script}: {found['exceptionDetails']}")
        return found["result"].get("value")

    def wait(self, script, seconds=20):
        end = time.monotonic() + seconds
        while True:
            try:
                found = self.do(script)
            except RuntimeError as error:
                # A page that is being replaced answers nothing, or has no parts yet.
                found, why = False, str(error)
            else:
                why = ""
            if found:
                return
            if time.monotonic() > end:
                raise AssertionError(f"never came true: {script} {why}")
            time.sleep(0.03)

    def size(self, width, height):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def scheme(self, name):
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def open(self, file, fragment="", scripted=True):
        # A new document even if only the fragment differs.
        self.ask("Page.navigate", url="about:blank")
        self.ask("Emulation.setScriptExecutionDisabled", value=not scripted)
        self.ask("Page.navigate", url=file.resolve().as_uri() + fragment)
        ready = " && document.documentElement.dataset.ready === 'yes'" if scripted else ""
        self.wait("location.protocol === 'file:' && document.readyState === 'complete'" + ready)

    def key(self, name):
        text = name if len(name) == 1 else "\r" if name == "Enter" else ""
        code = {"Enter": 13, "Escape": 27}.get(name, ord(name[0].upper()))
        for kind in ["keyDown", "keyUp"]:
            extra = {"text": text} if text and kind == "keyDown" else {}
            self.ask("Input.dispatchKeyEvent", type=kind, key=name, windowsVirtualKeyCode=code, **extra)

    def picture(self, file, whole=False):
        height = self.do("document.documentElement.scrollHeight") if whole else None
        clip = {"clip": {"x": 0, "y": 0, "width": self.do("innerWidth"), "height": height, "scale": 1}} if whole else {}
        data = self.ask("Page.captureScreenshot", captureBeyondViewport=whole, **clip)["data"]
        file.write_bytes(base64.b64decode(data))


class Browser:
    def __init__(self, program):
        self.folder = tempfile.TemporaryDirectory(prefix="calipers-page-", ignore_cleanup_errors=True)
        flags = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars"]
        # Root has no sandbox to start; the pages are our own.
        flags += ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        flags += ["--remote-debugging-port=0", f"--user-data-dir={self.folder.name}", "about:blank"]
        self.process = subprocess.Popen([program, *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        told = pathlib.Path(self.folder.name, "DevToolsActivePort")
        end = time.monotonic() + 60
        while not (told.exists() and told.read_text().count("\n") >= 1):
            if time.monotonic() > end or self.process.poll() is not None:
                raise RuntimeError("the browser did not start")
            time.sleep(0.05)
        self.port = told.read_text().split("\n")[0]

    def page(self, **options):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/json/list") as answer:
            tabs = json.load(answer)
        return Page(Socket(next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page")), **options)

    def close(self):
        self.process.terminate()
        self.process.wait(timeout=30)
        self.folder.cleanup()


def results():
    """Forty samples, three attempts each, among them hostile text."""
    lines = []
    for sample in range(40):
        for epoch in (1, 2, 3):
            passed = sample % 4 != 0 or (sample % 8 == 0 and epoch == 2)
            record = {"id": f"S-{sample:03}", "epoch": epoch, "category": ["core", "edge", "safety"][sample % 3], "passed": passed}
            record |= {"scores": {"judge": {"value": 1.0 if passed else 0.25, "answer": f"answer {epoch}", "explanation": "as seen"}}}
            record |= {"latency_ms": 300 + 37 * ((sample * 7 + epoch) % 40), "tokens_used": 100 + sample, "cost_usd": 0.001 * (sample + 1)}
            record |= {"input": f"question {sample}", "output": f"output {sample}/{epoch}"}
            if sample == 4:
                record |= {"output": HOSTILE, "input": HOSTILE, "category": HOSTILE}
            if sample == 8 and epoch == 1:
                record["output"] = LONG
            lines.append(record)
    lines.append({"id": "</script><b>x", "passed": False, "error": HOSTILE, "category": "core"})
    return lines


def slowest(count):
    """The names of the samples with the largest mean latency; of equal ones in their order."""
    total = {}
    for line in results():
        total[line["id"]] = total.get(line["id"], 0) + line.get("latency_ms", 0)
    return sorted(total, key=lambda name: -total[name])[:count]


#: A folder whose name is wider than a telephone, as paths often are.
LONG_FOLDER = "results-of-the-support-agent-on-the-machines-of-the-second-cluster-in-spring"


def write(file, lines):
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(file)


def made(calipers, page, *args):
    subprocess.run([calipers, "report", *args, "-o", str(page)], check=True)
    return page


def same(found, wanted, what):
    if found != wanted:
        raise AssertionError(f"{what}: {found!r} is not {wanted!r}")


IDS = "[...document.querySelectorAll('#table .row .id')].map((cell) => cell.textContent)"
# What reaches beyond the right side, unless it scrolls within its own frame.
WIDE = """[...document.querySelectorAll('body *')].filter((element) => element.getBoundingClientRect().right > innerWidth + 1 &&
  !element.closest('.scroll, .body, svg')).map((element) => element.tagName + '.' + element.className)"""


#: Texts with less contrast to what is behind them than WCAG 2.2 asks for (4.5, or 3 for large letters).
FAINT = """(() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const parse = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const over = ([r, g, b, a], [x, y, z]) => [[r, x], [g, y], [b, z]].map(([above, below]) => (above * a + below * (255 - a)) / 255);
  const light = (color) => {
    const [r, g, b] = color.map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    const layers = [];
    for (let one = element; one; one = one.parentElement) layers.push(parse(getComputedStyle(one).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const found = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement, words = walker.currentNode.textContent.trim();
    if (!words || element.closest('script, style, noscript, svg, [hidden], .visually-hidden, .skip, .invalid') || !element.checkVisibility()) continue;
    const style = getComputedStyle(element), back = behind(element);
    const [high, low] = [light(over(parse(style.color), back)), light(back)].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05), size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5;
    if (ratio < least) found.add(`${element.tagName}.${element.className} ${ratio.toFixed(2)}: ${words.slice(0, 40)}`);
  }
  return [...found];
})()"""

#: Words in a picture that lie on one another.
OVERLAPS = """[...document.querySelectorAll('svg')].filter((picture) => picture.checkVisibility()).flatMap((picture) => {
  const boxes = [...picture.querySelectorAll('text')].filter((text) => text.textContent.trim()).map((text) => [text.textContent, text.getBoundingClientRect()]);
  return boxes.flatMap(([words, a], place) => boxes.slice(place + 1).filter(([, b]) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1).map(([others]) => words + ' | ' + others));
})"""

#: What a screen reader would call by nothing but its kind.
CONTROLS = {"link", "button", "textbox", "searchbox", "combobox", "checkbox", "radio", "spinbutton", "progressbar", "image", "img"}


def check_readable(page, name):
    """People who see little, or nothing, can read the page as well."""
    same(page.do(FAINT), [], f"{name} has enough contrast")
    same(page.do(OVERLAPS), [], f"{name} has no words on one another")
    nodes = [node for node in page.ask("Accessibility.getFullAXTree")["nodes"] if not node.get("ignored")]
    roles = [(node["role"]["value"], node.get("name", {}).get("value", "").strip()) for node in nodes if "role" in node]
    same([role for role, called in roles if role in CONTROLS and not called], [], f"{name} has a name for each control and picture")
    same([role for role, _ in roles].count("main"), 1, f"{name} says where its content begins")
    levels = page.do("[...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].filter((one) => one.checkVisibility()).map((one) => Number(one.tagName[1]))")
    same([level for before, level in zip([0, *levels], levels) if level > before + 1], [], f"{name} leaves out no level of headings")
    same((levels.count(1), page.do("document.documentElement.lang")), (1, "en"), f"{name} has one title and a language")


def check_gate(page, folder, file):
    page.size(1280, 900)
    page.scheme("light")
    page.open(file)
    same(page.do("document.querySelector('.verdict').textContent.trim()"), "fail", "the verdict")
    same(page.do("document.querySelectorAll('#gates svg.forest .threshold').length > 2"), True, "thresholds are drawn")
    page.picture(folder / "gate-light-1280.png", whole=True)
    check_readable(page, "a report")
    light = page.do("getComputedStyle(document.body).backgroundColor")
    page.scheme("dark")
    dark = page.do("getComputedStyle(document.body).backgroundColor")
    same(light == dark, False, "dark and light differ")
    page.picture(folder / "gate-dark-1280.png", whole=True)
    check_readable(page, "a dark report")
    page.do("document.getElementById('theme').click()")
    same(page.do("getComputedStyle(document.body).backgroundColor"), light, "the chosen theme wins")
    page.do("document.getElementById('theme').click(); document.getElementById('theme').click()")
    page.scheme("light")
    page.size(400, 850)
    page.picture(folder / "gate-light-400.png", whole=True)
    same(page.do(WIDE), [], "nothing is wider than a telephone")
    page.scheme("dark")
    page.picture(folder / "gate-dark-400.png", whole=True)
    page.scheme("light")
    page.size(1280, 900)


def check_table(page, folder):
    same(page.do(IDS)[:2], ["S-004", "S-012"], "failures come first, those that always fail before flaky ones")
    page.do("document.querySelector('[data-key=latency] button').click()")
    page.do("document.querySelector('[data-key=latency] button').click()")
    same(page.do(IDS)[:5], slowest(5), "the slowest come first")
    page.do("document.querySelector('[data-key=id] button').click()")
    same(page.do(IDS)[:3], ["S-000", "S-001", "S-002"], "sorted by name")
    page.do("document.querySelector('[data-key=id] button').click()")
    same(page.do(IDS)[0], "</script><b>x", "sorted the other way")
    same(page.do("document.querySelector('[data-key=id]').getAttribute('aria-sort')"), "descending", "the order is told")
    page.do("document.querySelector('[data-filter=failed]').click()")
    same(page.do("document.querySelectorAll('#table .row .badge.failed').length === document.querySelectorAll('#table .row').length"), True, "only failures")
    page.do("document.querySelector('[data-filter=all]').click()")
    page.key("/")
    same(page.do("document.activeElement.id"), "search", "a slash goes to the search")
    for letter in "s-03 core":
        page.ask("Input.insertText", text=letter)
    page.wait("document.getElementById('found').textContent.startsWith('4 of')")
    same(sorted(page.do(IDS)), ["S-030", "S-033", "S-036", "S-039"], "found by name and category")
    page.key("Enter")
    page.key("j")
    same(page.do("document.querySelector('.row.here .id').textContent"), page.do(IDS)[1], "j goes down")
    page.key("Enter")
    page.wait("!document.getElementById('sample').hidden")
    same(page.do("location.hash.startsWith('#sample=S-03')"), True, "the address names the sample")
    page.key("Escape")
    page.wait("document.getElementById('sample').hidden")


def check_sample(page, folder, file):
    page.open(file, "#sample=S-004")
    same(page.do("document.querySelector('#sample h1').textContent"), "S-004", "the sample of the address")
    texts = page.do("[...document.querySelectorAll('#sample pre.text')].map((pre) => pre.textContent)")
    same(texts.count(HOSTILE), 4, "what a model wrote is shown as it is: once asked, three times answered")
    same(page.do("document.querySelectorAll('#sample script, #sample img, #main img').length"), 0, "and is text")
    page.picture(folder / "sample-light-1280.png", whole=True)
    page.scheme("dark")
    page.size(400, 850)
    page.picture(folder / "sample-dark-400.png", whole=True)
    same(page.do(WIDE), [], "a sample is not wider than a telephone")
    page.scheme("light")
    page.size(1280, 900)
    page.key("j")
    page.wait("document.querySelector('#sample h1').textContent === 'S-012'")
    page.key("k")
    page.wait("document.querySelector('#sample h1').textContent === 'S-004'")
    page.open(file, "#sample=S-008")
    same(page.do("[...document.querySelectorAll('#sample pre.text')].some((pre) => pre.textContent.length === %d)" % len(LONG)), True, "a long text is whole")
    page.open(file, "#sample=%3C%2Fscript%3E%3Cb%3Ex")
    same(page.do("document.querySelector('#sample h1').textContent"), "</script><b>x", "a hostile name has an address too")
    page.open(file, "#sample=unknown")
    same(page.do("document.querySelector('#sample').textContent.includes('has no sample unknown')"), True, "what is not there is said")


def check_compare(page, folder, file):
    page.open(file)
    same(page.do("document.querySelector('[data-filter=different]').getAttribute('aria-pressed')"), "true", "what differs is shown first")
    same(page.do("document.querySelectorAll('#table .row .moved').length > 0"), True, "with how it differs")
    page.picture(folder / "compare-light-1280.png", whole=True)


def check_scriptless(page, folder, file):
    page.open(file, scripted=False)
    same(page.do("document.querySelector('.verdict').textContent.trim()"), "fail", "the verdict without a script")
    same(page.do("document.querySelectorAll('.static tbody tr').length"), 11, "what did not pass, without a script")
    same(page.do("getComputedStyle(document.querySelector('.static')).display"), "block", "and it is seen")
    page.picture(folder / "gate-scriptless-1280.png", whole=True)
    page.size(400, 850)
    page.open(file, scripted=False)
    same(page.do(WIDE), [], "without a script, it is not wider than a telephone")
    page.picture(folder / "gate-scriptless-400.png", whole=True)
    page.size(1280, 900)


def check_print(page, folder):
    page.ask("Emulation.setEmulatedMedia", media="print")
    same(page.do("getComputedStyle(document.querySelector('.static')).display"), "block", "paper has a table")
    same(page.do("getComputedStyle(document.querySelector('.top nav')).display"), "none", "and nothing to click")
    (folder / "gate.pdf").write_bytes(base64.b64decode(page.ask("Page.printToPDF", printBackground=True)["data"]))
    page.ask("Emulation.setEmulatedMedia", media="")


def check_quiet(page):
    asked = [event["params"]["request"]["url"] for event in page.events if event["method"] == "Network.requestWillBeSent"]
    same([url for url in asked if not url.startswith(("file:", "about:", "data:"))], [], "no request leaves the file")
    alerts = [event for event in page.events if event["method"] == "Page.javascriptDialogOpening"]
    same(alerts, [], "nothing of a model runs")
    errors = [event["params"] for event in page.events if event["method"] == "Runtime.exceptionThrown"]
    same(errors, [], "the script has no mistakes")
    said = [event["params"]["entry"]["text"] for event in page.events if event["method"] == "Log.entryAdded"]
    same(said, [], "the browser complains of nothing")


def check(browser, calipers, folder):
    policy = folder / "policy.json"
    policy.write_text(json.dumps({
        "thresholds": {"blocking": {"pass_rate": 80, "accuracy": 60}, "warning": {"latency_p95": 1200}},
        "pass_criteria": {"by_category": {"core": "≥ 70%"}}, "required_scenarios": {"ids": ["S-001", "S-004"]},
    }))
    lines = results()
    (folder / LONG_FOLDER).mkdir(exist_ok=True)
    new = write(folder / LONG_FOLDER / "new.jsonl", lines)
    old = write(folder / LONG_FOLDER / "old.jsonl", [{**line, "passed": True} if line["id"] == "S-012" else line for line in lines])
    gate = made(calipers, folder / "gate.html", new, "--policy", str(policy))
    page = browser.page()
    check_gate(page, folder, gate)
    check_table(page, folder)
    check_print(page, folder)
    check_scriptless(page, folder, gate)
    check_sample(page, folder, gate)
    check_compare(page, folder, made(calipers, folder / "compare.html", new, "--against", old))
    check_quiet(page)


def many(file, share):
    """20,000 samples, five attempts each, of which so many of a thousand pass."""
    with file.open("w") as out:
        for sample in range(20_000):
            for epoch in range(1, 6):
                passed = (sample * 7919 + epoch * 104_729) % 1000 < share
                record = {"id": f"S-{sample:05}", "epoch": epoch, "category": f"c{sample % 20}", "score": 1 if passed else 0}
                record |= {"latency_ms": 200 + (sample * epoch) % 900, "tokens_used": 100 + sample % 700, "cost_usd": 0.001}
                record |= {"input": f"What is {sample} + {sample}?", "output": f"It is {2 * sample}, I think."}
                out.write(json.dumps(record) + "\n")
    return file


def bench(browser, calipers, folder):
    """How long two runs take to be compared, and a page to be written and to be seen."""
    file, other = many(folder / "many.jsonl", 900), many(folder / "others.jsonl", 905)
    compared = []
    for _ in range(3):
        start = time.monotonic()
        subprocess.run([calipers, "compare", str(file), str(other), "--json"], check=True, stdout=subprocess.DEVNULL)
        compared.append(time.monotonic() - start)
    written = []
    for _ in range(3):
        start = time.monotonic()
        page_file = made(calipers, folder / "many.html", str(file))
        written.append(time.monotonic() - start)
    page = browser.page()
    page.size(1280, 900)
    seen = []
    for _ in range(3):
        page.open(page_file)
        paint = page.do("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        ready = page.do("performance.now()")
        start = time.monotonic()
        page.do("document.querySelector('[data-key=latency] button').click()")
        sort = time.monotonic() - start
        seen.append((paint, ready, sort * 1000))
    print("20,000 samples × 5 attempts; least of 3 runs")
    print(f"| page of {page_file.stat().st_size / 1e6:.1f} MB | measured | required |")
    print("|:--|--:|--:|")
    print(f"| two runs read and compared | {min(compared):.2f} s | 1 s |")
    print(f"| read and written | {min(written):.2f} s | 2 s |")
    print(f"| first paint | {min(one[0] for one in seen) / 1000:.2f} s | 1 s |")
    print(f"| table ready, at most | {min(one[1] for one in seen) / 1000:.2f} s | |")
    print(f"| table sorted again | {min(one[2] for one in seen):.0f} ms | |")


def main():
    chromium, calipers, folder, *rest = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    browser = Browser(chromium)
    try:
        (bench if rest == ["--bench"] else check)(browser, calipers, folder)
    finally:
        browser.close()


if __name__ == "__main__":
    main()
