"use strict";
/* The graph page: lays nodes out, draws them, and shows what is known about the one that is chosen.
   Everything from a conversation is set as text, never as markup. No network, no library. */

const NEAR = 46; // how far apart neighbours like to stand

/* ---- Pure functions: tested without a browser ---- */

/** A start that is the same every time: a sunflower's seeds. */
function placed(count) {
  const out = [];
  for (let n = 0; n < count; n++) {
    const radius = NEAR * 0.6 * Math.sqrt(n + 0.5);
    const angle = n * 2.399963229728653;
    out.push({ x: radius * Math.cos(angle), y: radius * Math.sin(angle), vx: 0, vy: 0, held: false });
  }
  return out;
}

/** Cells of a grid with what is in them and where its middle is, so that far things count as one. */
function cells(points, size) {
  const grid = new Map();
  points.forEach((p, n) => {
    const key = Math.floor(p.x / size) + "," + Math.floor(p.y / size);
    let cell = grid.get(key);
    if (!cell) grid.set(key, (cell = { cx: Math.floor(p.x / size), cy: Math.floor(p.y / size), x: 0, y: 0, in: [] }));
    cell.x += p.x;
    cell.y += p.y;
    cell.in.push(n);
  });
  for (const cell of grid.values()) {
    cell.x /= cell.in.length;
    cell.y /= cell.in.length;
  }
  return [...grid.values()];
}

/** One step of the layout: everything repels, links pull, the middle pulls a little. */
function step(points, links, alpha) {
  const size = NEAR * 2.5;
  const grid = cells(points, size);
  const strength = NEAR * NEAR * 0.08 * alpha;
  const push = (p, x, y, weight) => {
    const dx = p.x - x, dy = p.y - y;
    const d2 = dx * dx + dy * dy + 4;
    p.vx += (dx / d2) * strength * weight;
    p.vy += (dy / d2) * strength * weight;
  };
  points.forEach((p, n) => {
    const cx = Math.floor(p.x / size), cy = Math.floor(p.y / size);
    for (const cell of grid) {
      if (Math.abs(cell.cx - cx) > 1 || Math.abs(cell.cy - cy) > 1) push(p, cell.x, cell.y, cell.in.length);
      else for (const m of cell.in) if (m !== n) push(p, points[m].x + (m < n ? 0.01 : -0.01), points[m].y, 1);
    }
    p.vx -= p.x * 0.02 * alpha;
    p.vy -= p.y * 0.02 * alpha;
  });
  const degree = new Float64Array(points.length);
  for (const [a, b] of links) (degree[a]++, degree[b]++);
  for (const [a, b] of links) {
    const p = points[a], q = points[b];
    const dx = q.x - p.x, dy = q.y - p.y;
    const d = Math.sqrt(dx * dx + dy * dy) || 1;
    const pull = ((d - NEAR * 1.4) / d) * alpha * 0.9 / Math.min(degree[a], degree[b]); // hubs are pulled by many: each less
    const share = degree[a] / (degree[a] + degree[b]); // the lighter end moves more
    p.vx += dx * pull * (1 - share);
    p.vy += dy * pull * (1 - share);
    q.vx -= dx * pull * share;
    q.vy -= dy * pull * share;
  }
  for (const p of points) {
    const speed = Math.hypot(p.vx, p.vy);
    const brake = speed > NEAR ? NEAR / speed : 1;
    if (!p.held) {
      p.x += p.vx * brake;
      p.y += p.vy * brake;
    }
    p.vx *= 0.55;
    p.vy *= 0.55;
  }
}

/** Text as it is compared in a search. */
function folded(text) {
  return text.normalize("NFKC").toLowerCase();
}

/** The numbers of the nodes that a search and the chosen types leave. */
function found(nodes, query, types) {
  const wanted = folded(query).split(/\s+/).filter(Boolean);
  const out = [];
  nodes.forEach((node, n) => {
    if (!types.has(node.type)) return;
    const hay = (node.hay ??= folded([node.name, node.readable, ...node.aliases, ...node.facts.map((f) => f.value)].join("\n")));
    if (wanted.every((word) => hay.includes(word))) out.push(n);
  });
  return out;
}

/** The node under a point, the nearest first; -1 for none. */
function hit(points, shown, x, y, reach) {
  let best = -1, least = reach * reach;
  for (const n of shown) {
    const dx = points[n].x - x, dy = points[n].y - y;
    const d2 = dx * dx + dy * dy;
    if (d2 <= least) [best, least] = [n, d2];
  }
  return best;
}

/** What makes everything visible: a scale and a shift. */
function fitted(points, shown, width, height) {
  if (!shown.length || !width || !height) return { k: 1, x: width / 2, y: height / 2 };
  let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const n of shown) {
    left = Math.min(left, points[n].x);
    right = Math.max(right, points[n].x);
    top = Math.min(top, points[n].y);
    bottom = Math.max(bottom, points[n].y);
  }
  const k = Math.min(2, width / (right - left + NEAR * 3), height / (bottom - top + NEAR * 3));
  return { k, x: width / 2 - (k * (left + right)) / 2, y: height / 2 - (k * (top + bottom)) / 2 };
}

/** Words with numbers put in: "turn {n}". */
function say(template, facts) {
  return template.replace(/\{(\w+)\}/g, (whole, name) => (name in facts ? String(facts[name]) : whole));
}

/* ---- The page ---- */

function start(document, window) {
  const { nodes, edges, types, words } = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const canvas = $("graph"), pen = canvas.getContext("2d");
  const points = placed(nodes.length);
  const links = edges.map((edge) => [edge.from, edge.to]);
  const degree = nodes.map(() => 0);
  for (const [a, b] of links) (degree[a]++, degree[b]++);
  const hues = new Map(types.map((type, n) => [type.id, (205 + n * 137.5) % 360]));
  const active = new Set(types.map((type) => type.id));
  let shown = nodes.map((_, n) => n), visible = new Set(shown);
  let view = { k: 1, x: 0, y: 0 }, chosen = -1, alpha = 1, waiting = false, moved = false, grip = null;
  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;

  /** An element with text in it; the text is only ever text. */
  function make(tag, className, text) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) {
      element.textContent = text;
      element.dir = "auto";
    }
    return element;
  }

  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const colours = {};
  function dress() {
    const style = window.getComputedStyle(document.documentElement);
    for (const name of ["ink", "line", "strong"]) colours[name] = style.getPropertyValue("--" + name).trim();
    colours.dark = dark.matches;
  }

  /** On the screen: large enough to be seen from afar, not swelling when one comes near. */
  function radius(n) {
    return (4 + Math.min(12, Math.sqrt(degree[n]) * 2.2)) * Math.min(1.6, Math.max(0.55, Math.pow(view.k, 0.4)));
  }

  function at(n) {
    return [points[n].x * view.k + view.x, points[n].y * view.k + view.y];
  }

  function draw() {
    waiting = false;
    const [width, height, ratio] = [canvas.clientWidth, canvas.clientHeight, window.devicePixelRatio || 1];
    if (alpha > 0.02) {
      step(points, links, alpha);
      alpha *= 0.985;
      if (!moved) view = fitted(points, shown, width, height);
      later();
    }
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const near = new Set(chosen < 0 ? [] : links.filter((link) => link.includes(chosen)).flat());
    const taken = new Set(), spoken = new Set();
    for (const mine of [false, true])
      for (const edge of edges) if ((edge.from === chosen || edge.to === chosen) === mine) line(edge, mine, spoken);
    for (const n of shown) dot(n, chosen < 0 || n === chosen || near.has(n));
    pen.globalAlpha = 1;
    const first = [...shown].sort((a, b) => rank(b, near) - rank(a, near) || a - b);
    for (const n of first) label(nodes[n].name, at(n)[0], at(n)[1] + radius(n) + 12, 12, taken);
  }

  /** Who gets a label where there is room for few: the chosen one, those beside it, the well connected. */
  function rank(n, near) {
    return degree[n] + (n === chosen ? 1e9 : near.has(n) ? 1e6 : 0);
  }

  function line(edge, mine, spoken) {
    if (!visible.has(edge.from) || !visible.has(edge.to)) return;
    const [[x, y], [u, v]] = [at(edge.from), at(edge.to)];
    pen.globalAlpha = chosen < 0 || mine ? 0.9 : 0.25;
    pen.strokeStyle = pen.fillStyle = colours[mine ? "strong" : "line"];
    pen.lineWidth = mine ? 1.8 : 1;
    pen.setLineDash(edge.until !== undefined ? [1, 4] : edge.rank === "assumed" ? [5, 4] : []);
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(u, v);
    pen.stroke();
    pen.setLineDash([]);
    if (!mine) return;
    const angle = Math.atan2(v - y, u - x), back = radius(edge.to) + 2;
    pen.beginPath();
    for (const [reach, turn] of [[0, 0], [9, 2.7], [9, -2.7]])
      pen.lineTo(u - back * Math.cos(angle) + reach * Math.cos(angle + turn), v - back * Math.sin(angle) + reach * Math.sin(angle + turn));
    pen.fill();
    label(edge.label, (x + u) / 2, (y + v) / 2 - 4, 11, spoken);
  }

  function dot(n, lit) {
    const [x, y] = at(n);
    pen.globalAlpha = lit ? 1 : 0.3;
    pen.beginPath();
    pen.arc(x, y, radius(n), 0, 7);
    pen.fillStyle = `hsl(${hues.get(nodes[n].type)} 55% ${colours.dark ? 62 : 45}%)`;
    pen.fill();
    if (n !== chosen) return;
    pen.lineWidth = 3;
    pen.strokeStyle = colours.strong;
    pen.stroke();
  }

  /** Words on the drawing; with `taken` only where no other words stand. */
  function label(text, x, y, size, taken) {
    if (x < -60 || y < 0 || x > canvas.clientWidth + 60 || y > canvas.clientHeight + 20) return;
    if (taken) {
      const cells = [-1, 0, 1].map((side) => Math.round((x + side * 36) / 36) + "," + Math.round(y / 15));
      if (cells.some((cell) => taken.has(cell))) return;
      cells.forEach((cell) => taken.add(cell));
    }
    pen.font = `${size}px system-ui, sans-serif`;
    pen.textAlign = "center";
    pen.fillStyle = colours.ink;
    pen.fillText(text.length > 28 ? text.slice(0, 27) + "…" : text, x, y);
  }

  function later() {
    if (!waiting) {
      waiting = true;
      window.requestAnimationFrame(draw);
    }
  }

  function reasons(list, title) {
    const box = make("details");
    box.append(make("summary", "", title));
    for (const why of list) {
      const row = make("p", "why");
      if (why.quote) row.append(make("q", "", why.quote), " ");
      const about = [why.by, why.turn === undefined ? "" : say(words.turn, { n: why.turn }), why.at, why.note];
      row.append(make("span", "quiet", about.filter(Boolean).join(" · ")));
      box.append(row);
    }
    return box;
  }

  function row(fact, other) {
    const item = make("li");
    item.append(make("span", "label", fact.label), " ");
    if (other === undefined) item.append(make("span", "", fact.value));
    else {
      const button = make("button", "link", nodes[other].name);
      button.type = "button";
      button.addEventListener("click", () => choose(other, true));
      item.append(button);
    }
    const marks = [];
    if (fact.pinned) marks.push(words.pinned);
    if (fact.since !== undefined) marks.push(say(words.since, { n: fact.since }));
    if (fact.until !== undefined) marks.push(say(words.until, { n: fact.until }));
    if (marks.length) item.append(" ", make("span", "quiet", marks.join(" · ")));
    if (fact.against) item.append(reasons(fact.against, words.against));
    if (fact.why) item.append(reasons(fact.why, words.why));
    return item;
  }

  function group(panel, title, rows) {
    if (!rows.length) return;
    const list = make("ul");
    list.append(...rows);
    panel.append(make("h3", "", title), list);
  }

  function choose(n, centre) {
    chosen = n;
    const panel = $("panel");
    panel.replaceChildren();
    panel.hidden = n < 0;
    for (const button of $("list").querySelectorAll("button"))
      button.setAttribute("aria-current", String(Number(button.dataset.n) === n));
    later();
    if (n < 0) return;
    const node = nodes[n];
    const close = make("button", "close", "×");
    close.type = "button";
    close.setAttribute("aria-label", words.close);
    close.addEventListener("click", () => (choose(-1), $("search").focus()));
    const kind = types.find((type) => type.id === node.type);
    panel.append(close, make("h2", "", node.name));
    panel.append(make("p", "quiet", [kind && kind.label, node.readable, ...node.aliases].filter(Boolean).join(" · ")));
    for (const [rank, title] of [["person", words.by_you], ["said", words.said], ["assumed", words.assumed]])
      group(panel, title, node.facts.filter((fact) => fact.rank === rank).map((fact) => row(fact)));
    group(panel, words.relations, edges.filter((e) => e.from === n).map((e) => row(e, e.to)));
    group(panel, words.spoken_of, edges.filter((e) => e.to === n && e.from !== n).map((e) => back(e)));
    group(panel, words.history, node.history.map((fact) => row(fact)));
    if (node.turns.length) group(panel, words.turns, [make("li", "", node.turns.join(", "))]);
    if (centre) {
      moved = true;
      view.x = canvas.clientWidth / 2 - view.k * points[n].x;
      view.y = canvas.clientHeight / 2 - view.k * points[n].y;
    }
    panel.scrollTop = 0;
  }

  /** A relation seen from its other end: who, then how. */
  function back(edge) {
    const item = row({ ...edge, label: "" }, edge.from);
    const toThis = `${edge.label} ${nodes[edge.to].name}`;
    item.querySelector("button").after(" ", make("span", "label", toThis));
    return item;
  }

  function refresh() {
    shown = found(nodes, $("search").value, active);
    visible = new Set(shown);
    $("count").textContent = say(words.count, { n: shown.length, all: nodes.length });
    const list = $("list");
    list.replaceChildren();
    for (const n of shown.slice(0, 300)) {
      const item = make("li"), button = make("button", "", nodes[n].name);
      button.type = "button";
      button.dataset.n = n;
      button.setAttribute("aria-current", String(n === chosen));
      button.style.borderInlineStartColor = `hsl(${hues.get(nodes[n].type)} 55% 50%)`;
      button.addEventListener("click", () => choose(n, true));
      item.append(button);
      list.append(item);
    }
    if (chosen >= 0 && !visible.has(chosen)) choose(-1);
    later();
  }

  function zoom(factor, x, y) {
    moved = true;
    const k = Math.min(8, Math.max(0.05, view.k * factor));
    view = { k, x: x - ((x - view.x) * k) / view.k, y: y - ((y - view.y) * k) / view.k };
    later();
  }

  function world(event) {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left - view.x) / view.k, (event.clientY - box.top - view.y) / view.k];
  }

  canvas.addEventListener("pointerdown", (event) => {
    const [x, y] = world(event);
    const n = hit(points, shown, x, y, 14 / view.k);
    grip = { n, x: event.clientX, y: event.clientY, far: false };
    if (n >= 0) points[n].held = true;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!grip) return;
    const dx = event.clientX - grip.x, dy = event.clientY - grip.y;
    if (!grip.far && Math.hypot(dx, dy) < 4) return;
    [grip.far, grip.x, grip.y, moved] = [true, event.clientX, event.clientY, true];
    if (grip.n >= 0) {
      [points[grip.n].x, points[grip.n].y] = world(event);
      alpha = still ? alpha : Math.max(alpha, 0.25);
    } else {
      view.x += dx;
      view.y += dy;
    }
    later();
  });
  canvas.addEventListener("pointerup", () => {
    if (grip && grip.n >= 0) points[grip.n].held = false;
    if (grip && !grip.far) choose(grip.n);
    grip = null;
  });
  canvas.addEventListener("pointercancel", () => (grip = null));
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const box = canvas.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY * 0.0015), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const [w, h] = [canvas.clientWidth / 2, canvas.clientHeight / 2];
    const pan = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
    if (pan) [view.x, view.y, moved] = [view.x + pan[0], view.y + pan[1], true];
    else if (event.key === "+" || event.key === "=") zoom(1.25, w, h);
    else if (event.key === "-") zoom(0.8, w, h);
    else if (event.key === "0") [view, moved] = [fitted(points, shown, w * 2, h * 2), false];
    else return;
    event.preventDefault();
    later();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") choose(-1);
    if (event.key === "/" && document.activeElement !== $("search")) {
      event.preventDefault();
      $("search").focus();
    }
  });
  $("search").addEventListener("input", refresh);
  $("fit").addEventListener("click", () => {
    [view, moved] = [fitted(points, shown, canvas.clientWidth, canvas.clientHeight), false];
    later();
  });
  $("closer").addEventListener("click", () => zoom(1.4, canvas.clientWidth / 2, canvas.clientHeight / 2));
  $("farther").addEventListener("click", () => zoom(1 / 1.4, canvas.clientWidth / 2, canvas.clientHeight / 2));
  for (const type of types) {
    const name = make("label"), box = make("input"), dot = make("i");
    box.type = "checkbox";
    box.checked = true;
    dot.style.background = `hsl(${hues.get(type.id)} 55% 50%)`;
    box.addEventListener("change", () => {
      if (box.checked) active.add(type.id);
      else active.delete(type.id);
      refresh();
    });
    name.append(box, dot, make("span", "", `${type.label || words.untyped} ${type.count}`));
    $("types").append(name);
  }
  dress();
  dark.addEventListener("change", () => (dress(), later()));
  new window.ResizeObserver(later).observe(canvas);
  const rounds = still ? 250 : Math.min(60, Math.ceil(20000 / (nodes.length + 1)));
  for (let n = 0; n < rounds; n++, alpha *= 0.985) step(points, links, alpha);
  if (still) alpha = 0;
  view = fitted(points, shown, canvas.clientWidth, canvas.clientHeight);
  refresh();
}

if (typeof module !== "undefined") module.exports = { placed, cells, step, folded, found, hit, fitted, say };
else start(document, window);
