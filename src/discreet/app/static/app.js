// The little that htmx does not do: keys for roles, copying, and news of runs.
"use strict";

const KEYS = {i: "identifiers", k: "quasi", c: "confidential", n: "insensitive", p: "pseudonyms",
  h: "household", u: "unit", w: "weight", t: "target", r: "row_key", d: "drop"};

function giveRole(columns, role) {
  const form = document.getElementById("roles");
  const values = {role: role, version: form.elements.version.value, column: columns};
  htmx.ajax("POST", "/data/role", {target: "#columns", swap: "innerHTML", values: values});
}

document.addEventListener("change", (event) => {
  const all = event.target.dataset.all;
  if (all) {
    const form = event.target.closest("form");
    for (const one of form.querySelectorAll(`input[name="${all}"]`)) one.checked = event.target.checked;
  }
  // A kind has levels of its own form.
  const kinds = event.target.dataset.examples;
  if (kinds) {
    const levels = event.target.form.elements[kinds];
    levels.placeholder = event.target.selectedOptions[0].dataset.example;
    levels.value = "";
  }
  const own = event.target.closest("select[data-role]");
  if (own) giveRole([own.dataset.role], own.value);
});

document.addEventListener("keydown", (event) => {
  const row = event.target.closest && event.target.closest("tr[data-column]");
  if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
  const role = KEYS[event.key];
  if (!role || event.target.tagName === "SELECT") return;
  event.preventDefault();
  const marked = [...document.querySelectorAll("input[name=column]:checked")].map((one) => one.value);
  sessionStorage.setItem("row", row.dataset.column);
  giveRole(marked.includes(row.dataset.column) ? marked : [row.dataset.column], role);
});

// After a swap, the keyboard stays in the row that it was in.
document.addEventListener("htmx:afterSettle", () => {
  const name = sessionStorage.getItem("row");
  if (!name) return;
  sessionStorage.removeItem("row");
  const rows = [...document.querySelectorAll("tr[data-column]")];
  const row = rows.find((one) => one.dataset.column === name);
  if (row) row.querySelector("input[name=column]").focus();
});

document.addEventListener("click", (event) => {
  const close = event.target.closest("button[data-close]");
  if (close) document.getElementById(close.dataset.close).replaceChildren();
  const button = event.target.closest("button[data-copy]");
  if (!button) return;
  navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent).then(() => {
    button.textContent = "Copied";
  });
});

// Say what is wrong with a form beside the field that it is about, or where the form ends.
function beside(form, said) {
  if (!form) return;
  for (const one of form.querySelectorAll(".error")) one.remove();
  for (const one of form.querySelectorAll("[aria-invalid]")) one.removeAttribute("aria-invalid");
  const first = said.trim().replace(/^step \d+[^:]*: /, "").split(/[^\w-]/)[0];
  const words = [first, (said.match(/ needs (\w+)/) || [])[1]].filter(Boolean);
  const named = (word) => form.querySelector(`[name="${word}"]:not([type=hidden]), [name$=".${word}"]`);
  const field = words.map(named).find(Boolean);
  const line = document.createElement("p");
  line.className = "error";
  line.textContent = said.trim();
  if (field) {
    const folded = field.closest("details");
    if (folded) folded.open = true;
    field.setAttribute("aria-invalid", "true");
    (field.closest(".field, fieldset") || field.parentElement).append(line);
    field.focus();
  } else form.append(line);
}

// What the server refuses, it says in one sentence.
document.addEventListener("htmx:responseError", (event) => {
  const found = new DOMParser().parseFromString(event.detail.xhr.responseText, "text/html");
  const said = found.querySelector(".notice");
  const place = document.getElementById("notice");
  place.replaceChildren();
  const line = document.createElement("p");
  line.className = "notice";
  line.textContent = said ? said.textContent : "The app did not answer; reload the page.";
  place.append(line);
  beside(event.detail.elt.closest("form"), line.textContent);
  // What was waited for does not come.
  for (const one of document.querySelectorAll(".waiting")) {
    if (event.detail.target.contains(one)) one.remove();
  }
});

document.addEventListener("htmx:sendError", () => {
  const place = document.getElementById("notice");
  place.textContent = "The app is not running any more. Start it again: nothing was lost.";
});

if (document.querySelector("[data-runs]")) {
  const events = new EventSource("/events");
  events.addEventListener("runs", () => htmx.trigger(document.body, "runs"));
}
