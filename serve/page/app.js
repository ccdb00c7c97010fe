"use strict";
const $ = (id) => document.getElementById(id);
const poll = 3000; // milliseconds between looks at the size of the gallery
let last = 0;      // the number of the latest search: older answers are dropped
let shown = "";    // the object URL of the image on the page
let asked = null;  // the latest query: its name and what makes the request of a page of it
let info = {};
let noMarks = "";

function say(message) {
  $("error").textContent = message;
  $("error").hidden = !message;
}

async function ask(path, options) {
  const response = await fetch(path, options);
  const text = await response.text();
  let answer = {};
  try { answer = JSON.parse(text); } catch { /* no JSON: the status says it */ }
  if (!response.ok) throw new Error(answer.error || text.trim() || response.statusText);
  return answer;
}

const json = (body) => ({headers: {"Content-Type": "application/json"}, body: JSON.stringify(body)});

// What is asked for beside the query: how many of which class, from where on.
function choice(offset) {
  const c = {k: Number($("k").value) || 12, offset};
  if ($("class").value.trim()) c.class = $("class").value.trim();
  return c;
}

function searchFile(file) {
  if (info.max_bytes && file.size > info.max_bytes) {
    last++;
    say(`${file.name}: the file has ${file.size} bytes, at most ${info.max_bytes} are taken`);
    return;
  }
  if (shown) URL.revokeObjectURL(shown);
  shown = info.features ? "" : URL.createObjectURL(file);
  find({name: file.name, picture: shown, page: (offset) => [
    `v1/search?${new URLSearchParams(choice(offset))}`, {headers: {"Content-Type": "application/octet-stream"}, body: file}]});
}

// Numbers are a row of features; other text is the path of a row.
function searchText(text) {
  const parts = text.split(/[\s,;[\]]+/).filter(Boolean), numbers = parts.map(Number);
  if (!parts.length) return;
  const row = info.features && parts.length > 1 && numbers.every(Number.isFinite);
  const query = row ? {features: [numbers]} : {path: text.trim()};
  find({name: row ? `${parts.length} numbers` : text.trim(), picture: "", page: (offset) => ["v1/search", json({...query, ...choice(offset)})]});
}

async function find(query) {
  asked = query;
  $("asked").hidden = !query.picture;
  if (query.picture) $("asked").src = query.picture; else $("asked").removeAttribute("src");
  $("name").textContent = query.name;
  $("list").replaceChildren();
  await turn(0);
}

// turn shows the page of the latest query that begins at an offset, below the ones before.
async function turn(offset) {
  const number = ++last;
  say("");
  $("query").hidden = $("found").hidden = false;
  $("more").hidden = true;
  $("status").textContent = "Searching …";
  try {
    const [path, options] = asked.page(offset);
    const found = await ask(path, {method: "POST", ...options});
    if (number === last) show(found);
  } catch (e) {
    if (number !== last) return;
    if (offset === 0) $("query").hidden = $("found").hidden = true;
    else $("status").textContent = "";
    say(`${asked.name}: ${e.message}`);
  }
}

function show(found) {
  rows(found.rows);
  const result = found.results[0];
  for (const n of result.neighbors) $("list").append(card(result, n));
  const cards = $("list").children.length, within = $("list").querySelectorAll(".same").length;
  $("status").textContent = cards === 0 ? "Nothing was found"
    : info.threshold == null ? `${cards}, nearest first` : `${within} of ${cards} within the threshold ${info.threshold.toPrecision(3)}`;
  $("more").hidden = !found.next;
  $("more").onclick = () => turn(found.next);
}

function card(result, n) {
  const item = $("card").content.cloneNode(true).firstElementChild;
  const img = item.querySelector("img");
  if (info.features) item.querySelector(".picture").remove();
  else {
    img.addEventListener("error", () => { img.replaceWith(Object.assign(document.createElement("span"), {textContent: "no picture"})); });
    img.src = `v1/picture?${new URLSearchParams({key: n.key})}`;
    img.alt = [n.class, n.path].filter(Boolean).join(", ");
  }
  item.title = `distance ${n.distance}\n${n.path || n.key}`;
  item.querySelector("b").textContent = n.class || "no class";
  item.querySelector(".distance").textContent = n.distance.toFixed(4) + (n.same ? " · same" : "");
  item.querySelector(".path").textContent = n.path.split("/").pop() || n.key.slice(0, 12);
  if (n.same) item.classList.add("same");
  know(n.class);
  const marks = item.querySelector(".marks");
  marks.setAttribute("aria-label", `is ${n.class || n.path} right?`);
  marks.hidden = Boolean(noMarks);
  const [yes, no] = item.querySelectorAll("button");
  const name = asked.name;
  const mark = async (right) => {
    try {
      await ask("mark", {method: "POST", ...json({query: result.query, name, key: n.key, right})});
      yes.setAttribute("aria-pressed", String(right));
      no.setAttribute("aria-pressed", String(!right));
      say("");
    } catch (e) { say(e.message); }
  };
  yes.addEventListener("click", () => mark(true));
  no.addEventListener("click", () => mark(false));
  return item;
}

// know proposes a class that was found to whoever filters.
const known = new Set();
function know(name) {
  if (!name || known.has(name) || known.size >= 500) return;
  known.add(name);
  $("classes").append(Object.assign(document.createElement("option"), {value: name}));
}

// rows shows how large the gallery is now.
function rows(n) {
  info.rows = n;
  const what = info.features ? (n === 1 ? "row" : "rows") : (n === 1 ? "image" : "images");
  $("about").textContent = `${n} ${what}${info.data ? ` of ${info.data}` : ""}, compared by ${info.metric}`;
}

$("file").addEventListener("change", () => { if ($("file").files[0]) searchFile($("file").files[0]); $("file").value = ""; });
for (const type of ["dragover", "dragenter"]) document.addEventListener(type, (e) => { e.preventDefault(); $("drop").classList.add("over"); });
for (const type of ["dragleave", "drop"]) document.addEventListener(type, () => $("drop").classList.remove("over"));
document.addEventListener("drop", (e) => {
  e.preventDefault();
  if (e.dataTransfer.files[0]) searchFile(e.dataTransfer.files[0]);
  else say("What was dropped is not a file.");
});
document.addEventListener("paste", (e) => {
  if (e.clipboardData.files[0]) searchFile(e.clipboardData.files[0]);
  else if (e.target.tagName !== "INPUT") searchText(e.clipboardData.getData("text"));
});
// The form searches for its text; without one, once more for the latest query.
$("ask").addEventListener("submit", (e) => {
  e.preventDefault();
  if ($("text").value.trim()) searchText($("text").value);
  else if (asked) find(asked);
  else say("Choose an image first, or name one of the gallery.");
});

async function look() {
  if (document.visibilityState !== "visible") return;
  try { rows((await ask("v1/info")).rows); } catch { /* the next search says it */ }
}

Promise.all([ask("v1/info"), ask("about")]).then(([i, about]) => {
  info = i;
  noMarks = about.no_marks;
  document.title = $("title").textContent = i.title;
  rows(i.rows);
  if (i.features) {
    $("what").innerHTML = "<b>Drop a .npy file here</b>, or choose one";
    $("what").append(`: one row of ${i.features} numbers`);
    $("file").accept = ".npy";
    $("text-is").textContent = `Path of a row of the gallery, or ${i.features} numbers`;
  }
  $("no-marks").textContent = noMarks;
  $("no-marks").hidden = !noMarks;
  setInterval(look, poll);
}).catch((e) => say(e.message));
