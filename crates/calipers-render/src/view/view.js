// What the pages of a history do beyond reading: the theme, keys, and news of runs. Everything else is links and forms.
"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("scripted");

  // Light, dark, or the setting of the system. The cookie lets the server send the page in its colours; reports read the other.
  const themes = ["system", "light", "dark"];
  const button = document.getElementById("theme");
  const remember = (name) => {
    document.cookie = "calipers_theme=" + name + "; path=/; max-age=31536000; samesite=lax";
    try { localStorage.setItem("calipers-theme", name); } catch { /* it is not kept */ }
  };
  const recall = () => (document.cookie.match(/(?:^|; )calipers_theme=(\w+)/) || [])[1];
  const show = (name) => {
    if (name === "system") delete root.dataset.theme; else root.dataset.theme = name;
    if (button) button.textContent = "Theme: " + name;
  };
  let theme = themes.includes(recall()) ? recall() : "system";
  show(theme);
  if (button) button.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    show(theme);
    remember(theme);
  });

  // A choice is a question: no button is needed after it.
  for (const form of document.querySelectorAll("form.filters")) {
    for (const select of form.querySelectorAll("select, input[list]")) select.addEventListener("change", () => form.requestSubmit());
  }

  // Rows by key: j and k, Enter opens, x chooses, / searches, n and p turn pages.
  const rows = () => [...document.querySelectorAll("table.runs tbody tr, table.list tbody tr")].filter((row) => row.querySelector("a"));
  let here = -1;
  const go = (step) => {
    const all = rows();
    if (!all.length) return;
    if (here >= 0 && all[here]) all[here].classList.remove("here");
    here = Math.min(all.length - 1, Math.max(0, here + step));
    all[here].classList.add("here");
    const link = all[here].querySelector("a.run-link") || all[here].querySelector("a");
    link.focus({ preventScroll: true });
    all[here].scrollIntoView({ block: "nearest" });
  };
  const follow = (selector) => { const link = document.querySelector(selector); if (link) link.click(); };
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest && event.target.closest("input:not([type=checkbox]), select, textarea");
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (typing) { if (event.key === "Escape") event.target.blur(); return; }
    if (event.key === "j") go(1);
    else if (event.key === "k") go(-1);
    else if (event.key === "n") follow("a[rel=next]");
    else if (event.key === "p") follow("a[rel=prev]");
    else if (event.key === "x") { const row = rows()[here], box = row && row.querySelector("input[type=checkbox]"); if (box) box.click(); }
    else if (event.key === "/") { const search = document.getElementById("search"); if (search) { event.preventDefault(); search.focus(); search.select(); } }
  });

  // The first run chosen is the candidate: boxes are sent in the order in which they were ticked.
  const compare = document.getElementById("compare");
  if (compare) {
    const ticked = [];
    compare.addEventListener("change", (event) => {
      const at = ticked.indexOf(event.target.value);
      if (event.target.checked && at < 0) ticked.push(event.target.value);
      if (!event.target.checked && at >= 0) ticked.splice(at, 1);
    });
    compare.addEventListener("submit", (event) => {
      if (ticked.length < 2) return;
      event.preventDefault();
      location.href = "/compare?" + ticked.map((key) => "run=" + encodeURIComponent(key)).join("&");
    });
  }

  // What is changed is sent with a header that no page of another site can add.
  const change = (address, body) => fetch(address, { method: "POST", headers: { "x-calipers": "1", "content-type": "application/json" }, body: JSON.stringify(body) });
  const complain = async (place, what, answer) => {
    let why = "the server does not answer.";
    if (answer) { try { why = (await answer.json()).error; } catch { why = "the server said " + answer.status + "."; } }
    place.textContent = what + why;
  };

  // A label: a button or its key, and then the next answer.
  const label = document.getElementById("label");
  if (label) {
    const note = label.querySelector("[name=note]"), said = document.getElementById("label-problem");
    const send = async (value) => {
      const { address, id, epoch, rater, queue, next } = label.dataset;
      if (value === "" && !note.value.trim()) { said.textContent = "Say in the note why it cannot be judged."; note.focus(); return; }
      let answer = null;
      try { answer = await change(address, { id, epoch: Number(epoch), rater, queue, value: value === "" ? null : Number(value), note: note.value }); } catch { /* said below */ }
      if (answer && answer.ok) location.href = next; else complain(said, "The label was not kept: ", answer);
    };
    label.addEventListener("submit", (event) => event.preventDefault());
    for (const one of label.querySelectorAll("button[data-value]")) one.addEventListener("click", () => send(one.dataset.value));
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || (event.target.closest && event.target.closest("input"))) return;
      const value = { y: "1", n: "0", i: "" }[event.key];
      // A key that moves to the note must not be written into it.
      if (value !== undefined) { event.preventDefault(); send(value); }
      else if (event.key === "c") { event.preventDefault(); note.focus(); }
    });
  }

  // Whether a run is counted.
  for (const form of document.querySelectorAll("form.change")) {
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const why = form.querySelector("[name=why]");
      let answer = null;
      try { answer = await change(form.dataset.address, why ? { why: why.value } : {}); } catch { /* said below */ }
      if (answer && answer.ok) location.reload(); else complain(form.querySelector(".problem"), "This was not kept: ", answer);
    });
  }

  // A run that goes on: its progress is replaced as it comes, and the page is reloaded when it ends.
  const refresh = async () => {
    const old = document.getElementById("progress");
    if (!old) return false;
    try {
      const answer = await fetch(old.dataset.address);
      if (!answer.ok) return true;
      const part = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("progress");
      if (part) old.replaceWith(document.importNode(part, true)); else location.reload();
    } catch { /* the next news may bring it */ }
    return true;
  };

  // News: the page says that there are new runs, and the reader decides when to look.
  const live = document.getElementById("live");
  if (live && "EventSource" in window) {
    let first = null, news = null;
    const hear = (event) => {
      const [version, reading] = event.data.split(" ");
      if (first === null) { first = version; live.hidden = true; return; }
      if (version === first) return;
      if (document.getElementById("progress")) { first = version; refresh(); return; }
      live.textContent = reading === "reading" ? "Files are being read; there are new runs." : "There are new or changed runs.";
      const link = document.createElement("a");
      link.href = location.href;
      link.textContent = "Show them";
      live.append(link);
      live.hidden = false;
    };
    // A browser has few connections to one server: only a page that is seen keeps one.
    const listen = () => {
      if (document.hidden) { if (news) news.close(); news = null; return; }
      if (news) return;
      news = new EventSource("/events");
      news.addEventListener("history", hear);
    };
    document.addEventListener("visibilitychange", listen);
    addEventListener("pagehide", () => { if (news) news.close(); news = null; });
    addEventListener("pageshow", listen);
    listen();
  }
  root.dataset.ready = "yes";
})();
