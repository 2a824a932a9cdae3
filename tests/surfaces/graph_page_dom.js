"use strict";
/* Just enough of a browser to run the script of the graph page: elements that hold text and children, a pen that only counts.
   Reads the page from standard input, does what a person would do, and prints what there is to see, as JSON. */

const vm = require("vm");
const page = require("fs").readFileSync(0, "utf8");

class Element {
  constructor(tag) {
    Object.assign(this, { tag, id: "", className: "", children: [], listeners: {}, attributes: {}, dataset: {}, style: {}, hidden: false });
    Object.assign(this, { value: "", checked: false, clientWidth: 800, clientHeight: 600, width: 0, height: 0, words: "" });
  }
  set textContent(text) { this.children = []; this.words = String(text); }
  get textContent() { return this.words + this.children.map((c) => (typeof c === "string" ? c : c.textContent)).join(""); }
  set innerHTML(_) { throw new Error("markup was set"); }
  append(...more) { this.children.push(...more.map((m) => (m instanceof Element ? Object.assign(m, { parent: this }) : String(m)))); }
  after(...more) { const at = this.parent.children.indexOf(this); this.parent.children.splice(at + 1, 0, ...more); }
  replaceChildren(...more) { this.words = ""; this.children = []; this.append(...more); }
  setAttribute(name, value) { this.attributes[name] = value; }
  addEventListener(name, what) { (this.listeners[name] ??= []).push(what); }
  fire(name, event = {}) { for (const what of this.listeners[name] ?? []) what({ preventDefault() {}, pointerId: 1, key: "", ...event }); }
  all() { return this.children.flatMap((c) => (c instanceof Element ? [c, ...c.all()] : [])); }
  querySelectorAll(tag) { return this.all().filter((e) => e.tag === tag); }
  querySelector(tag) { return this.querySelectorAll(tag)[0]; }
  getBoundingClientRect() { return { left: 0, top: 0 }; }
  setPointerCapture() {}
  focus() { document.activeElement = this; }
  getContext() {
    return new Proxy({}, { get: (_, name) => (...args) => (name === "fillText" ? drawn.push(args[0]) : undefined), set: () => true });
  }
}

const drawn = [], frames = [], ids = {};
const document = new Element("document");
document.documentElement = new Element("html");
document.createElement = (tag) => new Element(tag);
document.getElementById = (id) => (ids[id] ??= Object.assign(new Element(id), { id }));
const window = {
  matchMedia: () => ({ matches: false, addEventListener() {} }),
  getComputedStyle: () => ({ getPropertyValue: () => " #123456 " }),
  requestAnimationFrame: (what) => frames.push(what),
  ResizeObserver: class { constructor(what) { this.what = what; } observe() { this.what(); } },
  devicePixelRatio: 2,
};
const blocks = [...page.matchAll(/<script([^>]*)>([\s\S]*?)<\/script>/g)];
document.getElementById("data").textContent = blocks[0][2];
vm.runInNewContext(blocks[1][2], { document, window, console });
const settle = (most) => { for (let n = 0; frames.length && n < most; n++) frames.shift()(); };
settle(50);
const names = () => ids.list.querySelectorAll("button").map((b) => b.textContent);
const report = { blocks: blocks.length, all: names(), count: ids.count.textContent };
const first = ids.list.querySelectorAll("button")[0];
if (first) {
  first.fire("click");
  settle(5);
  report.panel = ids.panel.textContent;
  report.tags = [...new Set(ids.panel.all().map((e) => e.tag))].sort();
  const links = ids.panel.querySelectorAll("button").filter((b) => b.className === "link");
  if (links.length) { links[0].fire("click"); report.followed = ids.panel.querySelector("h2").textContent; }
  ids.search.value = process.argv[2] ?? "";
  ids.search.fire("input");
  report.found = names();
  ids.search.value = "";
  ids.search.fire("input");
  const box = ids.types.querySelectorAll("input")[0];
  box.checked = false;
  box.fire("change");
  report.filtered = names();
  box.checked = true;
  box.fire("change");
  for (const key of ["ArrowLeft", "+", "-", "0"]) ids.graph.fire("keydown", { key });
  ids.graph.fire("wheel", { deltaY: 120, clientX: 10, clientY: 10 });
  ids.graph.fire("pointerdown", { clientX: 5, clientY: 5 });
  ids.graph.fire("pointermove", { clientX: 50, clientY: 50 });
  ids.graph.fire("pointerup");
  for (const id of ["fit", "closer", "farther"]) ids[id].fire("click");
  document.fire("keydown", { key: "/" });
  document.fire("keydown", { key: "Escape" });
  report.closed = ids.panel.hidden;
  settle(50);
}
report.drawn = [...new Set(drawn)].length;
process.stdout.write(JSON.stringify(report));
