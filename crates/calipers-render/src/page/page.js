"use strict";
// The table of samples and a sample's own view. Text from data is only ever set as text.
(() => {
  const root = document.documentElement;
  root.classList.add("scripted");
  const by = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";

  function make(tag, options = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(options)) {
      if (value === undefined || value === null || value === false) continue;
      if (name === "text") element.textContent = value;
      else if (name === "class") element.className = value;
      else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  }

  // Light, dark, or as the system has it.
  const themes = ["system", "light", "dark"];
  let theme = "system";
  try { theme = localStorage.getItem("calipers-theme") || theme; } catch { /* a page without storage still has themes */ }
  function paint() {
    if (theme === "system") root.removeAttribute("data-theme"); else root.setAttribute("data-theme", theme);
    by("theme").textContent = "Theme: " + theme;
  }
  by("theme").addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    try { localStorage.setItem("calipers-theme", theme); } catch { /* as above */ }
    paint();
  });
  paint();

  const source = by("rows");
  if (!source) return;
  // The first screen is painted before the data are read.
  requestAnimationFrame(() => setTimeout(() => start(JSON.parse(source.textContent)), 0));

  const OUTCOMES = { p: "passed", f: "failed", s: "scored", e: "errored", u: "unscored" };
  const STANDINGS = { f: "newly failing", p: "newly passing", c: "changed", s: "as before", a: "added" };
  const SHAPES = {
    passed: ["circle", { cx: 5, cy: 5, r: 4 }], failed: ["polygon", { points: "5,0 10,5 5,10 0,5" }],
    scored: ["rect", { x: 1.5, y: 1.5, width: 7, height: 7 }], errored: ["path", { d: "M1 1 9 9M9 1 1 9" }], unscored: ["circle", { cx: 5, cy: 5, r: 3.5, class: "hollow" }],
  };

  function shape(outcome) {
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("class", "key " + outcome);
    svg.setAttribute("viewBox", "0 0 10 10");
    svg.setAttribute("aria-hidden", "true");
    const [tag, attributes] = SHAPES[outcome];
    const inner = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) inner.setAttribute(name, value);
    svg.append(inner);
    return svg;
  }

  const badge = (outcome) => make("span", { class: "badge " + outcome }, shape(outcome), outcome);

  function start(rows) {
    const count = rows.id.length;
    // What did not pass comes first, and of that what did run.
    const severity = { f: 0, e: 1, u: 2, s: 3, p: 4 };
    // Where nothing says which samples passed, the lowest scores come first.
    const judged = /[pf]/.test(rows.outcome);
    const state = { order: judged || !rows.score ? "outcome" : "score", down: false, filter: "all", category: "", run: "", search: "", here: -1 };
    let shown = [];
    let haystack = null;

    const columns = [
      { key: "outcome", name: "outcome", width: "104px", value: (i) => severity[rows.outcome[i]] * 2 + (rows.flaky[i] ? 1 : 0) },
      { key: "id", name: "sample", width: "minmax(110px, 1.4fr)", value: (i) => i },
      { key: "category", name: "category", width: "minmax(80px, 1fr)", value: (i) => rows.categories[rows.category[i]] ?? "", skip: !rows.categories.length },
      { key: "run", name: "run", width: "minmax(80px, 1fr)", value: (i) => rows.run[i], skip: rows.runs.length < 2 },
      { key: "standing", name: "change", width: "104px", value: (i) => "fpcas-".indexOf(rows.standing[i]), skip: !rows.standing },
      { key: "attempts", name: "attempts", width: "auto", value: (i) => share(rows.attempts[i]), skip: rows.attempts.every((a) => a.length < 2 || !/[pf]/.test(a)) },
      { key: "score", name: "score", width: "72px", number: true },
      { key: "latency", name: "latency", width: "80px", number: true },
      { key: "tokens", name: "tokens", width: "72px", number: true },
      { key: "cost", name: "cost", width: "84px", number: true },
      { key: "why", name: "why", width: "minmax(120px, 2fr)", value: (i) => rows.why[i], skip: rows.why.every((why) => !why) },
    ].filter((column) => !column.skip && (!column.number || rows[column.key]));
    for (const column of columns) if (column.number) column.value = (i) => rows[column.key + "_n"][i] ?? -Infinity;
    const attempted = columns.find((column) => column.key === "attempts");
    if (attempted) attempted.width = Math.min(150, 24 + 12 * rows.attempts.reduce((most, a) => Math.max(most, a.length), 0)) + 30 + "px";

    function share(letters) {
      let passed = 0;
      for (const letter of letters) passed += letter === "p";
      return passed / letters.length;
    }

    const is = {
      all: () => true,
      failed: (i) => rows.outcome[i] === "f",
      errored: (i) => rows.outcome[i] === "e",
      unscored: (i) => rows.outcome[i] === "u",
      flaky: (i) => rows.flaky[i] === 1,
      different: (i) => rows.standing && "fpca".includes(rows.standing[i]),
      required: (i) => rows.required[i] === 1,
    };
    const counts = {};
    for (const name of Object.keys(is)) {
      counts[name] = 0;
      for (let i = 0; i < count; i++) counts[name] += is[name](i) ? 1 : 0;
    }
    if (counts.different) state.filter = "different";

    // Tools above the table.
    const search = make("input", { type: "search", id: "search", placeholder: "Search samples", "aria-label": "Search samples by name, category and reason", autocomplete: "off" });
    const chips = make("div", { class: "chips", role: "group", "aria-label": "Show" });
    for (const name of Object.keys(is)) {
      if (name !== "all" && !counts[name]) continue;
      chips.append(make("button", { type: "button", "data-filter": name, "aria-pressed": "false", text: name + " " + counts[name].toLocaleString("en"), onclick: () => { state.filter = name; update(); } }));
    }
    const select = (key, label, names) => names.length < 2 ? null : make("select", { "aria-label": label, id: "by-" + key, onchange: (event) => { state[key] = event.target.value; update(); } },
      make("option", { value: "", text: label }), ...names.map((name, place) => make("option", { value: String(place), text: name })));
    const tools = make("div", { class: "tools" }, search, chips, select("category", "every category", rows.categories), select("run", "every run", rows.runs));

    // The table: a head, and a body that holds only the rows that are seen.
    const head = make("div", { class: "head cells", role: "row" });
    for (const column of columns) {
      head.append(make("div", { role: "columnheader", class: column.number ? "num" : null, "data-key": column.key },
        make("button", { type: "button", text: column.name, onclick: () => sort(column.key) })));
    }
    const room = make("div", { class: "room", role: "rowgroup" });
    const body = make("div", { class: "body", tabindex: "0", "aria-label": "Samples" }, room);
    const grid = make("div", { class: "grid", role: "grid", "aria-label": "Samples" }, head, body);
    grid.style.setProperty("--columns", columns.map((column) => column.width).join(" "));
    const found = make("p", { class: "hint", "aria-live": "polite", id: "found" });
    const keys = make("p", { class: "hint" });
    for (const [key, what] of [["/", "search"], ["j", "next"], ["k", "previous"], ["Enter", "open"], ["Esc", "back"]]) keys.append(make("kbd", { text: key }), " " + what + "   ");
    by("table").append(tools, grid, found, keys);
    by("table").hidden = false;

    function sort(key) {
      if (state.order === key) state.down = !state.down; else { state.order = key; state.down = false; }
      update();
    }

    function matches(i) {
      if (!is[state.filter](i)) return false;
      if (state.category !== "" && rows.category[i] !== Number(state.category)) return false;
      if (state.run !== "" && rows.run[i] !== Number(state.run)) return false;
      return words.every((word) => haystack[i].includes(word));
    }

    let words = [];
    function update() {
      words = state.search.toLowerCase().split(/\s+/).filter(Boolean);
      if (words.length && !haystack) {
        haystack = rows.id.map((id, i) => (id + "\n" + (rows.categories[rows.category[i]] ?? "") + "\n" + rows.why[i] + "\n" + OUTCOMES[rows.outcome[i]]).toLowerCase());
      }
      const column = columns.find((known) => known.key === state.order) ?? columns[0];
      const value = column.value;
      shown = [];
      for (let i = 0; i < count; i++) if (matches(i)) shown.push(i);
      const side = state.down ? -1 : 1;
      shown.sort((a, b) => {
        const [x, y] = [value(a), value(b)];
        return (x < y ? -side : x > y ? side : 0) || a - b;
      });
      for (const button of chips.children) button.setAttribute("aria-pressed", String(button.dataset.filter === state.filter));
      for (const cell of head.children) {
        const name = columns.find((known) => known.key === cell.dataset.key).name;
        if (cell.dataset.key === state.order) cell.setAttribute("aria-sort", state.down ? "descending" : "ascending"); else cell.removeAttribute("aria-sort");
        cell.firstChild.textContent = name + (cell.dataset.key === state.order ? (state.down ? " ↓" : " ↑") : "");
      }
      const text = (n) => n.toLocaleString("en");
      found.textContent = shown.length === count ? text(count) + " samples" : text(shown.length) + " of " + text(count) + " samples";
      grid.setAttribute("aria-rowcount", String(shown.length + 1));
      state.here = -1;
      body.scrollTop = 0;
      draw();
    }

    let height = 44;
    function draw() {
      height = parseFloat(getComputedStyle(root).getPropertyValue("--row")) || 44;
      const visible = Math.ceil(body.clientHeight / height) + 8;
      const first = Math.max(0, Math.floor(body.scrollTop / height) - 4);
      room.style.height = Math.max(shown.length * height, 1) + "px";
      const drawn = shown.slice(first, first + visible).map((i, place) => row(i, first + place));
      room.replaceChildren(...(shown.length ? drawn : [make("p", { class: "empty", text: "No sample matches." })]));
      body.style.height = shown.length * height < 400 ? Math.max(shown.length * height, 120) + "px" : "";
    }

    function address(i) {
      const run = rows.run[i] ? "&run=" + rows.run[i] : "";
      return "#sample=" + encodeURIComponent(rows.id[i]) + run;
    }

    function row(i, place) {
      const line = make("a", { class: "row cells" + (place === state.here ? " here" : ""), role: "row", href: address(i), tabindex: "-1", "aria-rowindex": String(place + 2), "aria-selected": String(place === state.here), "data-place": String(place) });
      line.style.transform = "translateY(" + place * height + "px)";
      for (const column of columns) line.append(cell(column, i));
      return line;
    }

    function cell(column, i) {
      const options = { role: "gridcell", class: column.number ? "num n" : column.key };
      switch (column.key) {
        case "outcome": return make("div", options, badge(OUTCOMES[rows.outcome[i]]));
        case "id": return make("div", { ...options, text: rows.id[i], title: rows.id[i] });
        case "category": return make("div", { ...options, text: rows.categories[rows.category[i]] ?? "" });
        case "run": return make("div", { ...options, class: "category", text: rows.runs[rows.run[i]], title: rows.runs[rows.run[i]] });
        case "standing": return make("div", { ...options, class: "moved " + rows.standing[i], text: rows.standing[i] === "s" ? "" : STANDINGS[rows.standing[i]] ?? "" });
        case "attempts": return make("div", options, dots(rows.attempts[i]));
        case "why": return make("div", { ...options, text: rows.why[i], title: rows.why[i] });
        default: return make("div", { ...options, text: rows[column.key][i] });
      }
    }

    function dots(letters) {
      const passed = Array.from(letters).filter((letter) => letter === "p").length;
      const words = passed + "/" + letters.length;
      const marks = make("span", { class: "dots", title: passed + " of " + letters.length + " attempts passed" });
      if (letters.length <= 8) for (const letter of letters) marks.append(shape(OUTCOMES[letter]));
      marks.append(make("span", { class: "quiet", text: " " + words }));
      return marks;
    }

    let waiting = 0;
    body.addEventListener("scroll", () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(draw); }, { passive: true });
    addEventListener("resize", draw);
    let typed = 0;
    search.addEventListener("input", () => { clearTimeout(typed); typed = setTimeout(() => { state.search = search.value; update(); }, 80); });

    function move(step) {
      if (!shown.length) return;
      state.here = Math.min(shown.length - 1, Math.max(0, state.here + step));
      const top = state.here * height;
      if (top < body.scrollTop) body.scrollTop = top;
      else if (top + height > body.scrollTop + body.clientHeight) body.scrollTop = top + height - body.clientHeight;
      draw();
    }

    // A sample's own view.
    const view = by("sample");
    const main = by("main");
    let open = -1;
    let place = 0;
    const blocks = new Map();

    function details(i) {
      let block = 0;
      while (block + 1 < rows.starts.length && rows.starts[block + 1] <= i) block++;
      if (!blocks.has(block)) blocks.set(block, JSON.parse(by("details-" + block).textContent));
      return blocks.get(block)[i - rows.starts[block]];
    }

    function find() {
      const parts = new URLSearchParams(location.hash.slice(1).replace(/\+/g, "%2B"));
      const id = parts.get("sample");
      if (id === null) return null;
      const run = Number(parts.get("run") ?? 0);
      let at = rows.id.findIndex((known, i) => known === id && rows.run[i] === run);
      if (at < 0) at = rows.id.indexOf(id);
      return { id, at };
    }

    function route() {
      const wanted = find();
      if (!wanted) return close();
      if (open < 0 && view.hidden) place = scrollY;
      open = wanted.at;
      view.replaceChildren(...(wanted.at < 0 ? missing(wanted.id) : whole(wanted.at)));
      main.hidden = true;
      view.hidden = false;
      scrollTo({ top: 0, behavior: "instant" });
      view.focus({ preventScroll: true });
    }

    function close() {
      if (view.hidden) return;
      const was = open;
      open = -1;
      view.hidden = true;
      view.replaceChildren();
      main.hidden = false;
      state.here = shown.indexOf(was);
      draw();
      const target = by(location.hash.slice(1));
      if (target && target !== by("samples")) target.scrollIntoView({ behavior: "instant" });
      else scrollTo({ top: place, behavior: "instant" });
      body.focus({ preventScroll: true });
    }

    function leave() {
      location.hash = "samples";
    }

    function step(by) {
      const list = shown.includes(open) ? shown : rows.id.map((_, i) => i);
      const next = list[list.indexOf(open) + by];
      if (next !== undefined) location.hash = address(next);
    }

    const top = () => make("div", { class: "bar-top" },
      make("button", { type: "button", id: "back", text: "← All samples", onclick: leave }), make("span", { class: "grow" }),
      make("button", { type: "button", text: "Previous", onclick: () => step(-1) }), make("button", { type: "button", text: "Next", onclick: () => step(1) }));

    const missing = (id) => [top(), make("p", { class: "empty", text: "This page has no sample " + id + "." })];

    function block(label, text) {
      if (text === undefined) return null;
      const pre = make("pre", { class: "text", text, tabindex: "0" });
      return make("div", {}, make("p", { class: "label", text: label }), pre);
    }

    function whole(i) {
      const sample = details(i);
      const meta = make("p", { class: "meta" }, badge(OUTCOMES[rows.outcome[i]]));
      const say = (text) => { if (text) meta.append(make("span", { text })); };
      say(rows.categories[rows.category[i]]);
      if (rows.runs.length > 1) say(rows.runs[rows.run[i]]);
      if (rows.required[i]) say("required");
      if (rows.flaky[i]) say("flaky");
      if (rows.standing && rows.standing[i] !== "-") say(STANDINGS[rows.standing[i]]);
      if (rows.attempts[i].length > 1 && /[pf]/.test(rows.attempts[i])) meta.append(dots(rows.attempts[i]));
      const parts = [top(), make("h1", { text: rows.id[i] }), meta, block("Input", sample.input), block("Expected answer", sample.target)];
      if (sample.facts) {
        const facts = make("dl", { class: "facts" });
        for (const [name, text] of sample.facts) facts.append(make("dt", { text: name }), make("dd", { text }));
        parts.push(make("p", { class: "label", text: "Metadata" }), facts);
      }
      parts.push(make("h2", { text: sample.attempts.length === 1 ? "Attempt" : sample.attempts.length + " attempts" }));
      parts.push(...sample.attempts.map((one) => attempt(one, sample)));
      return parts.filter((part) => part !== null);
    }

    function attempt(one, sample) {
      const spent = [one.latency, one.tokens && one.tokens + " tokens", one.cost].filter(Boolean).join(" · ");
      const parts = [make("header", {}, badge(one.outcome), make("b", { text: "Attempt " + one.epoch }), make("span", { class: "quiet num", text: spent }))];
      if (one.why) parts.push(make("p", { class: "why", text: one.why }));
      if (one.error !== undefined) parts.push(block("Error", one.error));
      if (sample.behaviors && one.happened) parts.push(...behaviors(sample.behaviors, one.happened));
      for (const [role, text] of one.messages ?? []) parts.push(block(role, text));
      parts.push(block("Output", one.output));
      for (const score of one.scores ?? []) {
        parts.push(make("p", { class: "label" }, "Score by ", make("b", { text: score.scorer }), ": ", make("b", { text: score.value })));
        parts.push(block("Answer", score.answer), block("Explanation", score.explanation));
      }
      return make("article", { class: "attempt", "aria-label": "Attempt " + one.epoch }, ...parts);
    }

    function behaviors(all, happened) {
      const lists = [["Expected", 0, "observed", "not observed"], ["Must not happen", 1, "violated", "did not happen"]];
      return lists.flatMap(([label, forbidden, yes, no]) => {
        const list = make("ul", { class: "marks" });
        all.forEach(([name, kind], place) => {
          if (kind !== forbidden) return;
          const did = happened[place] === "1";
          list.append(make("li", { class: did !== Boolean(forbidden) ? "yes" : "no" }, make("span", { text: name }), make("span", { class: "quiet", text: ": " + (did ? yes : no) })));
        });
        return list.children.length ? [make("p", { class: "label", text: label }), list] : [];
      });
    }

    addEventListener("hashchange", route);
    addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
      if (event.key === "Escape") {
        if (!view.hidden) leave();
        else if (event.target === search) { search.value = ""; state.search = ""; update(); body.focus({ preventScroll: true }); }
        return;
      }
      if (typing) {
        if (event.key === "Enter" && event.target === search) { event.preventDefault(); body.focus({ preventScroll: true }); move(state.here < 0 ? 1 : 0); }
        return;
      }
      const down = event.key === "j" || (event.key === "ArrowDown" && event.target === body);
      const up = event.key === "k" || (event.key === "ArrowUp" && event.target === body);
      if (event.key === "/") { event.preventDefault(); if (!view.hidden) { leave(); route(); } search.focus(); search.scrollIntoView({ block: "center" }); }
      else if (down || up) { event.preventDefault(); if (view.hidden) move(down ? 1 : -1); else step(down ? 1 : -1); }
      else if (event.key === "Enter" && view.hidden && state.here >= 0 && !/^(A|BUTTON|SUMMARY)$/.test(event.target.tagName)) location.hash = address(shown[state.here]);
    });
    update();
    route();
    root.dataset.ready = "yes";
  }
})();
