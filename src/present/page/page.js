(() => {
  const MAX_PRINTED_ROWS = 500;
  const OVERSCAN_ROWS = 12;
  const byId = (id) => document.getElementById(id);
  const block = JSON.parse(byId("rows").textContent);
  const contents = JSON.parse(byId("contents").textContent);
  const field = Object.fromEntries(block.fields.map((name, at) => [name, at]));
  const ANSWERS = block.fields.length;
  const NUMBERS = new Set(["n", "stream", "dir"]);
  const value = (row, name) => (NUMBERS.has(name) ? row[field[name]] : block.strings[row[field[name]]]);
  const ARROWS = ["", "→", "←"];
  const DIRECTIONS = ["life", "req", "resp"];

  // Titles and cells of the columns, as `xdscope log` has them. `key` sorts where it is not the text.
  const column = (title, text, name = "", key = text) => ({ title, text, name, key });
  const of = (name) => (row) => value(row, name);
  const COLUMNS = [
    column("#", (row) => String(row[0] || "-"), "number muted"),
    column("TIME", of("time"), "number", (row) => placeOf.get(row)),
    column("Δ", of("delta"), "number muted"),
    column("NODE", (row) => `${value(row, "node")} #${value(row, "stream")}`, "node"),
    column("DIR", (row) => ARROWS[value(row, "dir")], "muted", of("dir")),
    column("TYPE", of("type")),
    column("KIND", of("kind"), "kind", of("kind_word")),
    column("VER", of("version"), "short"),
    column("NONCE", of("nonce"), "short"),
    column("RESOURCES", of("resources")),
    column("SIZE", of("size"), "number"),
    column("LAT", of("latency"), "number"),
    column("NOTE", of("note"), "long"),
  ];
  const named = (...titles) => titles.map((title) => COLUMNS.find((of) => of.title === title));
  // A phone begins with what happened and why. An opened message has all columns.
  const NARROW = named("KIND", "TYPE", "NOTE", "#", "NODE", "TIME", "VER", "RESOURCES", "SIZE", "LAT");
  const LADDER_WORDS = named("TYPE", "KIND", "VER", "NONCE", "RESOURCES");
  const lane = column("client → server, server → client", (row) => LADDER_WORDS.map(({ text }) => text(row)).filter(Boolean).join("  "));
  const LADDER = [...named("#", "TIME", "NODE"), lane, ...named("LAT", "NOTE")];

  const rows = block.rows;
  const placeOf = new Map(rows.map((row, at) => [row, at]));
  const byNumber = new Map();
  const answeredBy = new Map();
  rows.forEach((row, at) => {
    if (row[0]) byNumber.set(row[0], at);
    if (row[ANSWERS] && value(row, "dir") === 1) answeredBy.set(row[ANSWERS], row[0]);
  });
  const pairOf = (row) => answeredBy.get(row[0]) || row[ANSWERS] || 0;
  const parse = makeFilter(block, COLUMNS, value);

  const [list, input, count, asLadder, detail] = ["list", "q", "count", "as-ladder", "detail"].map(byId);
  const make = (tag, className, ...children) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    element.append(...children.filter((child) => child !== undefined && child !== ""));
    return element;
  };
  // The rows of the list, the place of the chosen one, and the row that is open below the list.
  let listed = rows.map((_, at) => at);
  let active = -1;
  let opened = -1;
  let sorting = { column: undefined, isDescending: false };
  let rowHeight = 26;
  let drawn = [-1, -1];

  const table = make("table");
  table.setAttribute("role", "grid");
  table.setAttribute("aria-label", "Messages");
  const head = make("thead");
  const body = make("tbody");
  table.append(head, body);
  list.append(table);
  table.id = "grid";
  table.tabIndex = 0;

  const isNarrow = matchMedia("(max-width: 44rem)");
  let columns = COLUMNS;
  const titles = (isPrinted) => {
    columns = asLadder.checked ? LADDER : isNarrow.matches && !isPrinted ? NARROW : COLUMNS;
    table.className = asLadder.checked ? "as-ladder" : "as-table";
    const cells = columns.map(({ title, name }) => make("th", name, title));
    for (const [at, cell] of cells.entries()) {
      cell.scope = "col";
      if (columns[at] === sorting.column) cell.setAttribute("aria-sort", sorting.isDescending ? "descending" : "ascending");
    }
    sortByTitles(cells, (at, isDescending) => {
      sorting = { column: columns[at], isDescending };
      apply();
    });
    head.replaceChildren(make("tr", "", ...cells));
  };
  titles(false);

  const space = (height) => {
    const cell = make("td");
    cell.colSpan = columns.length;
    cell.style.height = `${height}px`;
    const line = make("tr", "space", cell);
    line.setAttribute("aria-hidden", "true");
    return line;
  };
  const cellOf = (row, { text, name }) => {
    if (columns === LADDER && text === lane.text) return make("td", "lane-cell", make("span", "lane", text(row)));
    const cell = make("td", name === "kind" ? `kind ${value(row, "role")}`.trim() : name, text(row));
    if (name === "long") cell.title = text(row);
    return cell;
  };
  const lineOf = (place) => {
    const row = rows[listed[place]];
    const line = make("tr", `${DIRECTIONS[value(row, "dir")]} ${columns === LADDER ? value(row, "role") : ""}`.trim());
    line.id = `row-${place}`;
    line.dataset.place = place;
    line.setAttribute("aria-rowindex", place + 2);
    line.setAttribute("aria-selected", String(place === active));
    line.append(...columns.map((of) => cellOf(row, of)));
    return line;
  };
  const draw = (force) => {
    const first = Math.max(0, Math.floor(list.scrollTop / rowHeight) - OVERSCAN_ROWS);
    const last = Math.min(listed.length, Math.ceil((list.scrollTop + list.clientHeight) / rowHeight) + OVERSCAN_ROWS);
    if (!force && first === drawn[0] && last === drawn[1]) return;
    drawn = [first, last];
    const lines = [];
    for (let place = first; place < last; place += 1) lines.push(lineOf(place));
    body.replaceChildren(space(first * rowHeight), ...lines, space((listed.length - last) * rowHeight));
    const line = body.children[1];
    const height = lines.length ? line.getBoundingClientRect().height : 0;
    if (height > 4 && Math.abs(height - rowHeight) > 0.5) {
      rowHeight = height;
      draw(true);
    }
  };

  // An opened message: its columns, names, error, broken rules and body.
  const item = (label, className, ...children) => make("div", className, make("dt", "", label), make("dd", "", ...children));
  const link = (hash, text) => {
    const anchor = make("a", "", text);
    anchor.href = hash;
    return anchor;
  };
  const leftOut = (row, content) => {
    const what = content ? content.left_out : "the content";
    const command = row[0] ? contents.command.join(row[0]) : content?.command;
    return what && command && make("p", "left-out", `${what} left out of this page: `, make("code", "", command));
  };
  const bodyOf = (text) => {
    const element = make("pre", "body", text);
    element.tabIndex = 0;
    return element;
  };
  const message = (at, button) => {
    const row = rows[at];
    const content = contents.messages[at];
    const title = make("h3", "", [row[0] ? `#${row[0]}` : "", value(row, "type"), value(row, "kind")].filter(Boolean).join(" "));
    const items = make("dl");
    for (const { title: label, text, name } of COLUMNS) {
      const words = text(row);
      if (words && label !== "#" && label !== "KIND") items.append(item(label === "Δ" ? label : label.toLowerCase(), name === "long" ? "wide" : "", words));
    }
    const pair = pairOf(row);
    if (pair) items.append(item("pair", "", link(`#m${pair}`, `#${pair}`)));
    for (const [rule, text] of content?.rules || []) items.append(item("rule", "wide", link(`#rule-${rule}`, rule), ` ${text}`));
    const names = (content?.names || []).map((name) => make("li", "", name));
    if (content?.more) names.push(make("li", "muted", content.more));
    if (names.length) items.append(item("names", "wide", make("ul", "names", ...names)));
    return make("article", "", title, button, items, content?.error && make("blockquote", "", content.error),
      content?.body && bodyOf(content.body), leftOut(row, content));
  };
  const toTimeline = (at) => {
    const isListed = listed.includes(at);
    const button = make("button", "", isListed ? "Show in the timeline" : "Show in the timeline without the filter");
    button.type = "button";
    button.addEventListener("click", () => {
      if (!isListed) {
        input.value = "";
        apply();
      }
      opened = at;
      select(listed.indexOf(at), true);
      table.focus({ preventScroll: true });
    });
    return button;
  };
  const describe = () => {
    detail.hidden = opened < 0;
    byId("timeline").classList.toggle("opened", opened >= 0);
    if (opened < 0) return detail.replaceChildren();
    const isChosen = listed[active] === opened;
    const pair = byNumber.get(pairOf(rows[opened]));
    const parts = [message(opened, isChosen ? undefined : toTimeline(opened))];
    if (pair !== undefined) parts.push(message(pair, toTimeline(pair)));
    const button = make("button", "close", "Close");
    button.type = "button";
    button.addEventListener("click", close);
    detail.replaceChildren(button, ...parts);
    detail.scrollTop = 0;
  };
  const close = () => {
    opened = -1;
    describe();
    table.focus({ preventScroll: true });
  };
  const select = (place, center) => {
    active = Math.max(0, Math.min(listed.length - 1, place));
    if (opened >= 0) opened = listed[active];
    describe();
    const top = active * rowHeight;
    const room = list.clientHeight - head.getBoundingClientRect().height;
    if (center) list.scrollTop = top - room / 2;
    else if (top < list.scrollTop) list.scrollTop = top;
    else if (top + rowHeight > list.scrollTop + room) list.scrollTop = top + rowHeight - room;
    draw(true);
    table.setAttribute("aria-activedescendant", `row-${active}`);
  };
  const open = (place) => {
    opened = listed[place];
    select(place);
    detail.scrollIntoView({ block: "nearest" });
  };
  // Opens a message. One that the filter hides stays out of the list.
  const show = (n) => {
    const at = byNumber.get(n);
    if (at === undefined) return;
    opened = at;
    if (listed.includes(at)) select(listed.indexOf(at), true);
    else describe();
  };
  const apply = () => {
    let matches;
    try {
      matches = parse(input.value);
      input.removeAttribute("aria-invalid");
    } catch (error) {
      input.setAttribute("aria-invalid", "true");
      count.textContent = error.message;
      return;
    }
    const before = listed[active];
    listed = rows.map((_, at) => at).filter((at) => matches(rows[at]));
    const { column: by, isDescending } = sorting;
    if (by) listed = shown.sorted(listed, (at) => by.key(rows[at]), isDescending);
    active = before === undefined ? -1 : listed.indexOf(before);
    table.setAttribute("aria-rowcount", listed.length + 1);
    const left = block.left_out ? `; ${block.left_out}` : "";
    count.textContent = `${listed.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows${left}`;
    list.scrollTop = 0;
    draw(true);
    describe();
  };

  list.addEventListener("scroll", () => requestAnimationFrame(() => draw(false)), { passive: true });
  new ResizeObserver(() => draw(true)).observe(list);
  body.addEventListener("click", (event) => {
    const line = event.target.closest("tr[data-place]");
    if (line) open(Number(line.dataset.place));
  });
  table.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.floor(list.clientHeight / rowHeight) - 2);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -listed.length, End: listed.length };
    if (event.ctrlKey || event.altKey || event.metaKey || !listed.length) return;
    if (steps[event.key] !== undefined) {
      event.preventDefault();
      table.focus({ preventScroll: true });
      select(active < 0 && event.key !== "End" ? 0 : active + steps[event.key]);
    } else if (event.key === "Enter" && active >= 0 && event.target === table) {
      event.preventDefault();
      open(active);
    } else if (event.key === "Escape") close();
  });
  detail.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.closest("input, textarea") || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    input.focus();
  });
  input.addEventListener("input", apply);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      input.value = "";
      apply();
    } else if (event.key === "ArrowDown" || event.key === "Enter") {
      event.preventDefault();
      table.focus({ preventScroll: true });
      if (listed.length) select(Math.max(active, 0));
    }
  });
  const relayout = () => {
    titles(false);
    draw(true);
  };
  asLadder.addEventListener("change", relayout);
  isNarrow.addEventListener("change", relayout);
  const go = () => {
    const target = location.hash.length > 1 && byId(location.hash.slice(1));
    const folded = target && target.querySelector(":scope > details");
    if (folded) folded.open = true;
    const n = /^#m(\d+)$/.exec(location.hash);
    if (!n) return;
    show(Number(n[1]));
    byId("timeline").scrollIntoView();
    table.focus({ preventScroll: true });
  };
  addEventListener("hashchange", go);
  document.addEventListener("click", (event) => {
    const anchor = event.target.closest('a[href^="#"]');
    // A second click on one link does not change the hash.
    if (anchor && anchor.hash === location.hash) go();
  });
  addEventListener("beforeprint", () => {
    titles(true);
    const lines = [];
    for (let place = 0; place < Math.min(listed.length, MAX_PRINTED_ROWS); place += 1) lines.push(lineOf(place));
    if (listed.length > lines.length) {
      const cell = make("td", "muted", `${(listed.length - lines.length).toLocaleString("en")} more rows`);
      cell.colSpan = columns.length;
      lines.push(make("tr", "", cell));
    }
    body.replaceChildren(...lines);
  });
  addEventListener("afterprint", relayout);

  for (const id of ["tools", "list", "keys"]) byId(id).hidden = false;
  apply();
  go();
})();
