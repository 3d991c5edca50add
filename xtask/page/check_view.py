"""Looks at the pages of `calipers view` in a headless Chromium.

usage: check_view.py CHROMIUM CALIPERS FOLDER

Runs are made up below FOLDER, a server is started on them, and a screenshot of each page is kept there. With BLESS=1, the pictures of
the guide are made again, in docs/images.
"""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import urllib.request

from check import HOSTILE, LONG_FOLDER, Browser, check_readable, same, write

DAY = 86_400


def run_of(place):
    """A run of the made-up support agent: it gets better, then worse, and its test changes once."""
    lines = []
    for sample in range(60):
        rate = 70 + min(place, 12) * 1.6 - (18 if place in (13, 14) else 0)
        for epoch in (1, 2):
            passed = (sample * 37 + epoch * 11 + (place // 3) * 5) % 100 < rate - (25 if sample % 9 == 0 else 0)
            asked = f"case {sample}" + (" (rewritten)" if place >= 16 and sample < 12 else "")
            record = {"id": f"CASE-{sample:03}", "epoch": epoch, "input": asked, "output": f"answer {place}.{sample}", "category": ["core", "edge"][sample % 2]}
            record |= {"scores": {"judge": {"value": int(passed), "explanation": "as expected" if passed else "it forgot the refund"}}}
            record |= {"latency_ms": 400 + sample * 7 + place}
            if sample == 7:
                turns = [("user", asked), ("assistant", "I look it up."), ("tool", "order 4107: shipped " * 60), ("assistant", "Parcel 4107 arrives on Thursday.")]
                record["messages"] = [{"role": role, "content": f"{text}" if n < 4 else f"turn {n}: {text}"} for n, (role, text) in enumerate(turns * 4)]
                record["messages"][1]["tool_calls"] = [{"id": "c1", "function": "look_up", "arguments": {"number": 4107}, "type": "function"}]
            if sample == 8:
                # Messages of very different lengths: an address must lead to each of them.
                record["messages"] = [{"role": ["user", "assistant"][n % 2], "content": f"turn {n}: " + "and so on " * (n * 37 % 200)} for n in range(90)]
            if sample == 5:
                record |= {"input": HOSTILE, "output": HOSTILE}
            if place == 10 and sample in (3, 4):
                record = {"id": record["id"], "epoch": epoch, "input": asked, "error": "the server hung up"}
            lines.append(record)
    return lines


def make(folder):
    logs = folder / LONG_FOLDER / "support"
    shutil.rmtree(folder / LONG_FOLDER, ignore_errors=True)
    logs.mkdir(parents=True)
    for place in range(20):
        file = logs / f"{place:02}.jsonl"
        write(file, run_of(place))
        when = 1_767_225_600 + place * 5 * DAY
        os.utime(file, (when, when))
    other = folder / LONG_FOLDER / "routing"
    other.mkdir()
    write(other / "a.jsonl", [{"id": n, "input": f"q{n}", "score": n % 3 != 0} for n in range(30)])
    return folder / LONG_FOLDER


class Served:
    def __init__(self, calipers, folder):
        database = folder / "history.db"
        for end in ["", "-wal", "-shm"]:
            pathlib.Path(f"{database}{end}").unlink(missing_ok=True)
        policy = folder / "policy-view.json"
        policy.write_text(json.dumps({"pass_criteria": {"overall": "at least 75%"}}))
        words = ["view", str(folder / LONG_FOLDER), "--database", str(database), "--port", "0", "--no-open", "--policy", str(policy)]
        self.process = subprocess.Popen([calipers, *words], stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip().rstrip("/")
        end = time.monotonic() + 60
        while self.json("/api/runs?size=1")["total"] < 21:
            if time.monotonic() > end:
                raise RuntimeError("the runs never came")
            time.sleep(0.05)

    @classmethod
    def at(cls, url):
        served = cls.__new__(cls)
        served.url = url
        return served

    def json(self, path):
        return json.loads(self.text(path))

    def text(self, path):
        with urllib.request.urlopen(self.url + path) as answer:
            return answer.read().decode()

    def close(self):
        self.process.terminate()
        same(self.process.wait(timeout=30), 0, "the server ends well")


def visit(page, served, path, scripted=True):
    page.ask("Page.navigate", url="about:blank")
    page.ask("Emulation.setScriptExecutionDisabled", value=not scripted)
    page.ask("Page.navigate", url=served.url + path)
    ready = " && (document.documentElement || {dataset: {}}).dataset.ready === 'yes'" if scripted else ""
    page.wait("location.protocol === 'http:' && document.readyState === 'complete'" + ready)


def look(page, served, folder, name, path):
    """A page in light and dark, wide and narrow, and without a script."""
    for scheme in ["light", "dark"]:
        for width, height in [(1280, 900), (400, 850)]:
            page.scheme(scheme)
            page.size(width, height)
            visit(page, served, path)
            page.picture(folder / f"view-{name}-{scheme}-{width}.png", whole=True)
            same(page.do("document.documentElement.scrollWidth <= innerWidth"), True, f"{name} is not wider than {width}")
            check_readable(page, name)
    page.scheme("light")
    page.size(1280, 900)
    visit(page, served, path, scripted=False)
    same(page.do("document.querySelector('main').innerText.length > 40"), True, f"{name} reads without a script")
    visit(page, served, path)


def check_runs(page, served, folder):
    look(page, served, folder, "runs", "/")
    same(page.do("document.querySelectorAll('table.runs tbody tr').length"), 21, "all runs are listed")
    same(page.do("document.querySelector('main').innerText.includes('2 errored')"), True, "errored samples are seen")
    page.key("/")
    same(page.do("document.activeElement.id"), "search", "a slash goes to the search")
    page.key("Escape")
    page.key("j")
    page.key("j")
    same(page.do("document.querySelector('tr.here') === document.querySelectorAll('table.runs tbody tr')[1]"), True, "j goes down")
    page.key("x")
    page.key("k")
    page.key("x")
    page.do("document.querySelector('#compare button').click()")
    page.wait("location.pathname === '/compare' && document.readyState === 'complete'")
    runs = served.json("/api/runs?size=2")["runs"]
    same(page.do("location.search"), f"?run={runs[1]['key']}&run={runs[0]['key']}", "the run that was ticked first is the candidate")
    visit(page, served, "/")
    page.do("document.querySelector('select[name=suite]').value = 'routing'; document.querySelector('select[name=suite]').dispatchEvent(new Event('change', {bubbles: true}))")
    page.wait("location.search.includes('suite=routing') && document.querySelectorAll('table.runs tbody tr').length === 1")
    check_table(page, served)
    check_theme(page, served)


def check_table(page, served):
    """The list is a table to those who hear it, and its columns stand under their titles."""
    visit(page, served, "/")
    nodes = page.ask("Accessibility.getFullAXTree")["nodes"]
    roles = [node["role"]["value"] for node in nodes if not node["ignored"]]
    same(roles.count("table") == 1 and roles.count("row") == 22 and roles.count("rowheader") == 21 and roles.count("columnheader") == 6, True, f"roles of the list: {set(roles)}")
    crooked = """[...document.querySelectorAll('table.runs thead th')].filter((title) => {
      const cell = document.querySelector('table.runs tbody tr > .' + title.className);
      return Math.abs(cell.getBoundingClientRect().left - title.getBoundingClientRect().left) > 1;
    }).map((title) => title.className)"""
    same(page.do(crooked), [], "columns stand under their titles")


def check_theme(page, served):
    """What was chosen holds before any script runs, so that no page flashes."""
    visit(page, served, "/")
    page.do("document.getElementById('theme').click(); document.getElementById('theme').click()")
    same(page.do("document.documentElement.dataset.theme"), "dark", "two clicks from the system's to the dark one")
    visit(page, served, "/trend", scripted=False)
    same(page.do("document.documentElement.dataset.theme"), "dark", "it is chosen for all pages")
    visit(page, served, "/")
    same(page.do("document.getElementById('theme').textContent"), "Theme: dark", "and the button says so")
    page.do("document.getElementById('theme').click()")
    visit(page, served, "/", scripted=False)
    same(page.do("document.documentElement.dataset.theme === undefined"), True, "and back")
    visit(page, served, "/")


def check_run(page, served, folder, runs):
    key = runs[0]["key"]
    look(page, served, folder, "run", f"/runs/{key}")
    figure = runs[0]["figures"][0]
    shown = page.do("document.querySelector('#metrics .estimate b').textContent")
    same(float(shown), round(figure["value"], 3), "the figure of the list")
    look(page, served, folder, "samples", f"/runs/{key}/samples")
    look(page, served, folder, "sample", f"/runs/{key}/sample?id=CASE-005")
    same(page.do("[...document.querySelectorAll('main .text')].filter((one) => one.textContent === %s).length" % json.dumps(HOSTILE)), 2, "what a model wrote is text")
    same(page.do("document.querySelectorAll('main script, main img').length"), 0, "and no markup")
    page.key("n")
    page.wait("location.search.includes('id=') && !location.search.includes('CASE-005')")
    look(page, served, folder, "case", "/case?suite=support&id=CASE-009")
    same(page.do("document.querySelectorAll('.outcome-strip li').length"), 20, "a mark for each run")
    times = page.do("[...document.querySelectorAll('.outcome-strip li')].map((mark) => mark.innerText.trim().slice(0, 16))")
    same(times, sorted(times), "from the first run to the latest, also where the line is broken")
    check_beside(page, served, folder, runs)


def check_beside(page, served, folder, runs):
    """Two answers to one case: what differs is marked, and what is the same is folded away."""
    visit(page, served, "/case?suite=support&id=CASE-007")
    page.do("[...document.querySelectorAll('td a')].find((link) => link.textContent === 'beside the run before').click()")
    page.wait("location.search.includes('beside=') && (document.documentElement || {dataset: {}}).dataset.ready === 'yes'")
    same(page.do("[...document.querySelectorAll('.attempt mark')].map((mark) => mark.textContent)"), ["19", "18"], "the answers differ in one number")
    same(page.do("document.querySelector('.attempt .same:not([open]) summary').textContent"), "16 messages are the same", "the conversation does not")
    path = page.do("location.pathname + location.search")
    look(page, served, folder, "beside", path)
    visit(page, served, f"/runs/{runs[0]['key']}/sample?id=CASE-007&attempt=1&beside={runs[0]['key']}&other=9")
    same(page.do("document.querySelector('.problem').textContent"), "The other file has no attempt 9 of this sample.", "what is not there is said")


def check_compare(page, served, folder, runs):
    look(page, served, folder, "compare", f"/compare?run={runs[0]['key']}&run={runs[6]['key']}")
    same(page.do("document.querySelector('main').innerText.includes('something else under the same name')"), True, "changed cases are told")


def check_trend(page, served, folder):
    look(page, served, folder, "trend", "/trend?suite=support&score=judge&metric=accuracy")
    same(page.do("document.querySelectorAll('.wide .dot').length"), 20, "a point for each run")
    same(page.do("document.querySelectorAll('.wide .break-line').length"), 1, "one interruption")
    same(page.do("document.querySelectorAll('.wide .outline').length"), 2, "the line is in two pieces")
    same(page.do("document.querySelectorAll('.wide .change.bad').length >= 1"), True, "a fall is seen")
    labels = page.do("[...document.querySelectorAll('.wide .trend-plot > text')].map((text) => text.textContent)")
    same("0" in labels and "1" in labels, True, f"the axis has its whole range: {labels}")


def check_verdicts(page, served, folder):
    look(page, served, folder, "verdicts", "/verdicts")
    same(page.do("document.querySelectorAll('main .badge.failed').length > 0"), True, "the policy fails some runs")


def check_label(page, served, folder, runs):
    key = runs[0]["key"]
    look(page, served, folder, "label-name", f"/runs/{key}/label")
    page.do("document.querySelector('[name=rater]').focus()")
    for letter in "Ada":
        page.key(letter)
    page.key("Enter")
    page.wait("location.search.includes('rater=Ada') && document.getElementById('label') !== null && (document.documentElement || {dataset: {}}).dataset.ready === 'yes'")
    look(page, served, folder, "label", f"/runs/{key}/label?rater=Ada")
    shown = page.do("document.querySelector('main').innerText")
    same("as expected" in shown or "forgot the refund" in shown, False, "what the judge said is not shown")
    for number, letter in enumerate(["y", "n", "y"], 1):
        before = page.do("document.getElementById('label').dataset.id + document.getElementById('label').dataset.epoch")
        page.key(letter)
        page.wait(f"(document.documentElement || {{dataset: {{}}}}).dataset.ready === 'yes' && document.getElementById('label') && document.getElementById('label').dataset.id + document.getElementById('label').dataset.epoch !== '{before}'")
        same(page.do("document.querySelector('main').innerText.includes('%d of ')" % number), True, "it is counted")
    page.key("i")
    same(page.do("document.getElementById('label-problem').textContent"), "Say in the note why it cannot be judged.", "a reason is asked for")
    for letter in "torn":
        page.key(letter)
    page.key("Escape")
    page.key("i")
    page.wait("(document.documentElement || {dataset: {}}).dataset.ready === 'yes' && document.querySelector('main').innerText.includes('4 of ')")
    page.key("p")
    page.wait("location.search.includes('id=') && (document.documentElement || {dataset: {}}).dataset.ready === 'yes'")
    labels = [json.loads(line) for line in served.text(f"/api/runs/{key}/labels").splitlines()]
    same(sorted(value for label in labels for value in label["scores"].values()), [0, 1, 1], "the keys say what they say")
    page.do("document.querySelector('nav[aria-label=Order] a:nth-child(3)').click()")
    page.wait("location.search.includes('queue=threshold') && (document.documentElement || {dataset: {}}).dataset.ready === 'yes'")
    look(page, served, folder, "judge", f"/runs/{key}/judge")
    look(page, served, folder, "audit", "/audit")
    same(page.do("document.querySelector('main').innerText.includes('torn')"), True, "the trail says why")
    same(page.do("document.querySelector('main').innerText.includes('itorn')"), False, "and nothing that was not typed")


def check_search(page, served, folder, runs):
    key = runs[0]["key"]
    look(page, served, folder, "search", f"/runs/{key}/search?q=Thursday")
    page.key("j")
    page.key("Enter")
    page.wait("location.pathname.endsWith('/sample') && (document.documentElement || {dataset: {}}).dataset.ready === 'yes'")
    same(page.do("location.hash.startsWith('#m') && document.querySelector(location.hash) !== null"), True, "a hit leads to its message")
    page.wait("(({top}) => top >= 0 && top < innerHeight)(document.querySelector(location.hash).getBoundingClientRect())")
    for number in [2, 40, 88]:
        visit(page, served, f"/runs/{key}/sample?id=CASE-008#m{number}")
        page.wait(f"(({{top}}) => top >= 0 && top < innerHeight)(document.querySelector('#m{number}').getBoundingClientRect())")
    look(page, served, folder, "conversation", f"/runs/{key}/sample?id=CASE-007&find=turn")
    same(page.do("document.querySelectorAll('.message details:not([open])').length > 0"), True, "tool calls are folded")


def check_invalidation(page, served, folder, runs):
    key = runs[3]["key"]
    visit(page, served, f"/runs/{key}")
    page.do("document.querySelector('.invalidation summary').click()")
    page.do("document.querySelector('.invalidation [name=why]').focus()")
    for letter in "down":
        page.key(letter)
    page.key("Enter")
    page.wait("(document.documentElement || {dataset: {}}).dataset.ready === 'yes' && document.querySelector('main').innerText.includes('not counted: down')")
    same(served.json("/api/runs?state=invalid")["total"], 1, "it is not counted")
    page.do("document.querySelector('.invalidation summary').click()")
    page.do("document.querySelector('.invalidation button').click()")
    page.wait("(document.documentElement || {dataset: {}}).dataset.ready === 'yes' && !document.querySelector('main').innerText.includes('not counted')")


def check_live(page, served, folder):
    visit(page, served, "/")
    page.wait("document.getElementById('live').hidden")
    time.sleep(0.5)
    write(folder / LONG_FOLDER / "routing" / "b.jsonl", [{"id": n, "score": 1} for n in range(30)])
    page.wait("!document.getElementById('live').hidden", seconds=30)
    same(page.do("document.querySelector('#live a').textContent"), "Show them", "the reader decides")
    # A run that goes on: the page follows it, and shows its report at its end.
    file = folder / LONG_FOLDER / "routing" / "going-on.json"
    file.write_text(json.dumps(going_on(16, "started")))
    page.do("document.querySelector('#live a').click()")
    end = time.monotonic() + 30
    while not (runs := served.json("/api/runs?q=going-on")["runs"]):
        same(time.monotonic() < end, True, "it is found")
        time.sleep(0.1)
    look(page, served, folder, "live", f"/runs/{runs[0]['key']}")
    same(page.do("document.querySelector('#progress b').textContent"), "16", "so far")
    same(page.do("document.getElementById('metrics') === null"), True, "no intervals before the end")
    file.write_text(json.dumps(going_on(31, "started")))
    page.wait("document.querySelector('#progress b') && document.querySelector('#progress b').textContent === '31'", seconds=30)
    file.write_text(json.dumps(going_on(40, "success")))
    page.wait("document.getElementById('progress') === null && document.getElementById('metrics') !== null", seconds=30)


def going_on(samples, status):
    """A log of forty samples that has so many."""
    done = [{"id": n, "epoch": 1, "input": f"q{n}", "target": "x", "scores": {"match": {"value": "C" if n % 3 else "I"}}} for n in range(samples)]
    scorers = [{"name": "match", "metrics": [{"name": "inspect_ai/accuracy"}]}]
    spec = {"task": "routing", "model": "acme/large-2", "created": "2026-05-01T09:00:00+00:00", "dataset": {"samples": 40, "sample_ids": list(range(40))}, "config": {"epochs": 1}, "scorers": scorers}
    return {"version": 2, "status": status, "eval": spec, "samples": done}


def check_broken(page, served, folder):
    """What cannot be read is named, and hides nothing."""
    logs = folder / LONG_FOLDER / "routing"
    (logs / "bad.jsonl").write_text('{"id": 1, "score"')
    (logs / "link.jsonl").symlink_to("nowhere.jsonl")
    visit(page, served, "/")
    end = time.monotonic() + 30
    while not page.do("document.getElementById('problems') && document.getElementById('problems').innerText.includes('link.jsonl') && document.getElementById('problems').innerText.includes('bad.jsonl')"):
        same(time.monotonic() < end, True, "what cannot be read is named")
        time.sleep(0.5)
        visit(page, served, "/")
    same(page.do("document.querySelectorAll('table.runs tbody tr').length > 20"), True, "the others are there")
    page.picture(folder / "view-broken.png", whole=True)


def check_login(page, calipers, folder):
    """Beyond loopback, a browser asks for a token once."""
    (folder / "tokens.txt").write_text("read read-0123456789abcdef\nadmin admin-0123456789abcdef Ada\n")
    words = ["view", "--database", str(folder / "history.db"), "--port", "0", "--no-open", "--bind", "0.0.0.0", "--tokens", str(folder / "tokens.txt")]
    process = subprocess.Popen([calipers, *words], stdout=subprocess.PIPE, text=True)
    try:
        served = type("Guarded", (), {"url": process.stdout.readline().strip().rstrip("/").replace("0.0.0.0", "127.0.0.1")})
        visit(page, served, "/trend")
        same(page.do("location.pathname"), "/login", "a token is asked for")
        page.picture(folder / "view-login.png", whole=True)
        for token, want in [("wrong", "That is not one of its tokens."), ("read-0123456789abcdef", "Runs")]:
            page.do("document.querySelector('[name=token]').focus()")
            for letter in token:
                page.key(letter)
            page.key("Enter")
            page.wait(f"document.readyState === 'complete' && document.querySelector('main') && document.querySelector('main').innerText.includes('{want}')")
        visit(page, served, "/audit")
        same(page.do("document.querySelector('main').innerText.includes('does not allow')"), True, "a token for reading is not one for the trail")
    finally:
        process.terminate()
        process.wait(timeout=30)


def check_saved(page, served, folder, runs):
    """A page as one file needs no server and runs nothing."""
    for name, path in [("runs", "/"), ("trend", "/trend?suite=support"), ("run", f"/runs/{runs[0]['key']}")]:
        file = folder / f"saved-{name}.html"
        file.write_text(served.text(path + ("&" if "?" in path else "?") + "save=1"))
        page.open(file, scripted=False)
        same(page.do("document.querySelector('main').innerText.length > 100"), True, f"{name} reads from a file")
        page.picture(folder / f"view-saved-{name}.png")
    page.ask("Emulation.setScriptExecutionDisabled", value=False)


def check_demo(page, calipers, root):
    """The made-up runs have versions, branches and verdicts: pages with all their columns fit every window. The pictures of the guide
    are theirs too."""
    process = subprocess.Popen([calipers, "view", "--demo", "--port", "0", "--no-open"], stdout=subprocess.PIPE, text=True)
    try:
        served = Served.at(process.stdout.readline().strip().rstrip("/"))
        end = time.monotonic() + 120
        while served.json("/api/runs?size=1")["total"] < 52:
            same(time.monotonic() < end, True, "the made-up runs come")
            time.sleep(0.2)
        runs = served.json("/api/runs?model=acme/large-2&size=30")["runs"]
        pages = {
            "runs": "/",
            "trend": "/trend?suite=support-agent&score=resolved&metric=accuracy",
            "compare": f"/compare?run={runs[11]['key']}&run={runs[13]['key']}",
        }
        page.scheme("light")
        for width in [1280, 1000, 800, 400]:
            page.size(width, 780)
            for name, path in [*pages.items(), ("several", pages["compare"] + f"&run={runs[15]['key']}")]:
                visit(page, served, path)
                same(page.do("document.documentElement.scrollWidth <= innerWidth"), True, f"{name} of the demo is not wider than {width}")
        if os.environ.get("BLESS"):
            take_pictures(page, served, root / "docs" / "images", pages)
    finally:
        process.terminate()
        same(process.wait(timeout=30), 0, "the server of the demo ends well")


def take_pictures(page, served, images, pages):
    images.mkdir(exist_ok=True)
    page.size(1200, 780)
    for name, path in pages.items():
        visit(page, served, path)
        data = page.ask("Page.captureScreenshot", format="webp", quality=55)["data"]
        (images / f"view-{name}.webp").write_bytes(base64.b64decode(data))


def check_empty(page, calipers, folder):
    (folder / "empty").mkdir(exist_ok=True)
    words = ["view", str(folder / "empty"), "--database", str(folder / "empty.db"), "--port", "0", "--no-open"]
    process = subprocess.Popen([calipers, *words], stdout=subprocess.PIPE, text=True)
    try:
        served = type("Empty", (), {"url": process.stdout.readline().strip().rstrip("/")})
        for path in ["/", "/trend", "/verdicts", "/nothing"]:
            visit(page, served, path)
            name = path.strip("/") or "runs"
            page.picture(folder / f"view-empty-{name}.png", whole=True)
    finally:
        process.terminate()
        process.wait(timeout=30)


def check_quiet(page):
    asked = [event["params"]["request"]["url"] for event in page.events if event["method"] == "Network.requestWillBeSent"]
    same([url for url in asked if not url.startswith(("http://127.0.0.1:", "about:", "data:", "file:"))], [], "no request leaves the server")
    same([event for event in page.events if event["method"] == "Page.javascriptDialogOpening"], [], "nothing of a model runs")
    same([event["params"] for event in page.events if event["method"] == "Runtime.exceptionThrown"], [], "the script has no mistakes")
    said = [event["params"]["entry"]["text"] for event in page.events if event["method"] == "Log.entryAdded"]
    same([text for text in said if "404" not in text and "401" not in text and "403" not in text and "ERR_INCOMPLETE_CHUNKED" not in text and "ERR_CONNECTION" not in text], [], "the browser complains of nothing")


def main():
    chromium, calipers, folder = sys.argv[1:4]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    make(folder)
    browser = Browser(chromium)
    served = Served(calipers, folder)
    try:
        page = browser.page()
        runs = served.json("/api/runs?suite=support&size=50")["runs"]
        check_runs(page, served, folder)
        check_run(page, served, folder, runs)
        check_compare(page, served, folder, runs)
        check_trend(page, served, folder)
        check_verdicts(page, served, folder)
        check_label(page, served, folder, runs)
        check_search(page, served, folder, runs)
        check_invalidation(page, served, folder, runs)
        check_saved(page, served, folder, runs)
        check_live(page, served, folder)
        check_broken(page, served, folder)
        check_login(page, calipers, folder)
        check_empty(page, calipers, folder)
        check_demo(page, calipers, pathlib.Path(__file__).resolve().parents[2])
        check_quiet(page)
    finally:
        served.close()
        browser.close()


if __name__ == "__main__":
    main()
