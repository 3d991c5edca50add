"""When something is seen in a browser, by the browser's own clock.

A script that is added to every new document, whichever server it comes from, looks at each change of the document. Once the text is
in it, has a box, and the frame with it has been made, it says how long that took since the navigation began. Nothing is polled, and
nothing but the page is running: no accessibility tree, no record of requests.
"""

import json
import time

from check import Browser, Page, Socket  # noqa: F401

#: `wanted` is the text. The time in the document, and when the frame that shows it was made.
SCRIPT = """(() => {
  if (self !== top || location.protocol === 'about:') return;
  const wanted = %s;
  let element = null, inDocument = 0;
  const find = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return node.data.includes(wanted) ? node.parentElement : null;
    if (node.nodeType !== Node.ELEMENT_NODE || !node.textContent.includes(wanted)) return null;
    const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) if (walker.currentNode.data.includes(wanted)) return walker.currentNode.parentElement;
    return node;
  };
  const hidden = (one) => one.closest('script, style, title, noscript');
  const paint = () => requestAnimationFrame(() => {
    // It may have been replaced by its like.
    if (!element.isConnected) element = find(document.body);
    const box = element && element.getClientRects()[0];
    if (element && !box) paint();
    if (!box) return;
    // The frame is made right after this, and this task is the first after it.
    scheduler.postTask(() => {
      const painted = performance.now();
      observer.disconnect();
      saySeen(JSON.stringify({inDocument, painted, top: box.top, height: innerHeight, origin: performance.timeOrigin}));
    }, {priority: 'user-blocking'});
  });
  const observer = new MutationObserver((changes) => {
    if (element) return;
    for (const change of changes) {
      for (const node of change.type === 'characterData' ? [change.target] : change.addedNodes) {
        const found = find(node);
        if (found && !hidden(found)) { element = found; inDocument = performance.now(); paint(); return; }
      }
    }
  });
  observer.observe(document, {childList: true, subtree: true, characterData: true});
})()"""


class Clock:
    """A tab that tells when a text is seen."""

    def __init__(self, browser):
        self.page = browser.page(domains=["Page", "Runtime"])
        self.page.size(1280, 900)
        self.page.ask("Runtime.addBinding", name="saySeen")

    def visit(self, url, text, start="about:blank", is_cold=False, seconds=60):
        """Milliseconds from the beginning of the navigation until the text is in the document, and until it is painted."""
        page = self.page
        page.ask("Page.navigate", url=start)
        page.wait(f"location.href === {json.dumps(start)} && document.readyState === 'complete'")
        if is_cold:
            page.ask("Network.clearBrowserCache")
            for origin in {"/".join(one.split("/")[:3]) for one in (start, url) if one.startswith("http")}:
                page.ask("Storage.clearDataForOrigin", origin=origin, storageTypes="all")
        # What the page before has left to do is not ours to wait for.
        time.sleep(0.3)
        script = page.ask("Page.addScriptToEvaluateOnNewDocument", source=SCRIPT % json.dumps(text))["identifier"]
        page.events.clear()
        page.ask("Page.navigate", url=url)
        seen = self.hear(seconds)
        page.ask("Page.removeScriptToEvaluateOnNewDocument", identifier=script)
        return seen

    def hear(self, seconds):
        events = self.page.events
        end = time.monotonic() + seconds
        self.page.socket.stream.settimeout(seconds)
        while True:
            for event in events:
                if event["method"] == "Runtime.bindingCalled" and event["params"]["name"] == "saySeen":
                    return json.loads(event["params"]["payload"])
            events[:] = [json.loads(self.page.socket.receive())]
            if time.monotonic() > end:
                raise RuntimeError("it was never seen")
