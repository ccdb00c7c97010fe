"use strict";
const $ = (id) => document.getElementById(id);
let last = 0;   // the number of the latest search: older answers are dropped
let shown = ""; // the object URL of the image on the page
let about = {};

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

async function search(file) {
  if (about.max_bytes && file.size > about.max_bytes) {
    last++;
    say(`${file.name}: the file has ${file.size} bytes, at most ${about.max_bytes} are taken`);
    return;
  }
  if (shown) URL.revokeObjectURL(shown);
  shown = about.width ? "" : URL.createObjectURL(file);
  await find(file.name, shown, "application/octet-stream", file);
}

// Numbers are a vector; other text is the key of a row.
function searchText(text) {
  const parts = text.split(/[\s,;[\]]+/).filter(Boolean), numbers = parts.map(Number);
  if (!parts.length) return;
  const vector = about.width && parts.length > 1 && numbers.every(Number.isFinite);
  const name = vector ? `${parts.length} numbers` : text.trim();
  find(name, "", "application/json", JSON.stringify(vector ? {vector: numbers} : {key: name}));
}

async function find(name, picture, type, body) {
  const number = ++last;
  say("");
  $("asked").hidden = !picture;
  if (picture) $("asked").src = picture; else $("asked").removeAttribute("src");
  $("name").textContent = name;
  $("query").hidden = $("found").hidden = false;
  $("status").textContent = "Searching …";
  $("list").replaceChildren();
  try {
    const result = await ask("search", {method: "POST", headers: {"Content-Type": type}, body});
    if (number === last) show(result, name);
  } catch (e) {
    if (number !== last) return;
    $("query").hidden = $("found").hidden = true;
    say(`${name}: ${e.message}`);
  }
}

function show(result, name) {
  const within = result.neighbors.filter((n) => n.same).length;
  $("status").textContent = about.threshold == null ? `${result.neighbors.length}, nearest first`
    : `${within} of ${result.neighbors.length} within the threshold ${about.threshold.toPrecision(3)}`;
  for (const n of result.neighbors) {
    const card = $("card").content.cloneNode(true).firstElementChild;
    const img = card.querySelector("img");
    if (about.width) img.remove(); else img.src = `image/${n.row}`;
    img.alt = `${n.class}, ${n.path}`;
    card.title = `distance ${n.distance}\nrow ${n.row}\n${n.path}`;
    card.querySelector("b").textContent = n.class;
    card.querySelector(".distance").textContent = n.distance.toFixed(4) + (n.same ? " · same" : "") + (about.width ? ` · ${n.path}` : "");
    if (n.same) card.classList.add("same");
    card.querySelector(".marks").setAttribute("aria-label", `is ${n.class} right?`);
    card.querySelector(".marks").hidden = Boolean(about.no_marks);
    const [yes, no] = card.querySelectorAll("button");
    const mark = async (right) => {
      try {
        await ask("mark", {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify({query: result.query, name, row: n.row, right})});
        yes.setAttribute("aria-pressed", String(right));
        no.setAttribute("aria-pressed", String(!right));
        say("");
      } catch (e) { say(e.message); }
    };
    yes.addEventListener("click", () => mark(true));
    no.addEventListener("click", () => mark(false));
    $("list").append(card);
  }
}

$("file").addEventListener("change", () => { if ($("file").files[0]) search($("file").files[0]); $("file").value = ""; });
for (const type of ["dragover", "dragenter"]) document.addEventListener(type, (e) => { e.preventDefault(); $("drop").classList.add("over"); });
for (const type of ["dragleave", "drop"]) document.addEventListener(type, () => $("drop").classList.remove("over"));
document.addEventListener("drop", (e) => {
  e.preventDefault();
  if (e.dataTransfer.files[0]) search(e.dataTransfer.files[0]);
  else say("What was dropped is not a file.");
});
document.addEventListener("paste", (e) => {
  if (e.clipboardData.files[0]) search(e.clipboardData.files[0]);
  else if (e.target !== $("text")) searchText(e.clipboardData.getData("text"));
});
$("go").addEventListener("click", () => searchText($("text").value));
$("text").addEventListener("keydown", (e) => { if (e.key === "Enter") searchText($("text").value); });

ask("about").then((a) => {
  about = a;
  document.title = a.title;
  $("title").textContent = a.title;
  $("about").textContent = `${a.rows} ${a.width ? "rows" : "images"} of ${a.data}, compared by ${a.metric}`;
  if (a.width) {
    $("what").textContent = `Drop a .npy file of one row of ${a.width} numbers here, or choose one`;
    $("file").accept = ".npy";
    $("text-is").textContent = `or ${a.width} numbers, or a row of the gallery by number or path`;
  }
  $("no-marks").textContent = a.no_marks;
  $("no-marks").hidden = !a.no_marks;
}).catch((e) => say(e.message));
