// The little that htmx does not do: keys for roles, copying, and news of runs.
"use strict";

const KEYS = {i: "identifiers", k: "quasi", c: "confidential", n: "insensitive", p: "pseudonyms",
  h: "household", u: "unit", w: "weight", t: "target", r: "row_key", d: "drop"};

// One after the other, each from what the one before has shown: htmx would keep the last alone of
// those that wait, and the app would take them for another tab's.
let given = Promise.resolve();

function giveRole(columns, role) {
  given = given.then(() => {
    const form = document.getElementById("roles");
    const values = {role: role, version: form.elements.version.value, column: columns};
    return htmx.ajax("POST", "/data/role", {target: "#columns", swap: "innerHTML", values: values});
  }).catch(() => {});
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

// From the mark that was clicked last to this one, as in any list.
let last = null;
document.addEventListener("click", (event) => {
  const one = event.target;
  if (one.name !== "column" || one.type !== "checkbox") return;
  const all = [...one.form.querySelectorAll("input[name=column]")];
  const [from, to] = [all.findIndex((other) => other.value === last), all.indexOf(one)];
  if (event.shiftKey && from >= 0) {
    for (const other of all.slice(Math.min(from, to), Math.max(from, to) + 1)) other.checked = one.checked;
  }
  last = one.value;
});

document.addEventListener("keydown", (event) => {
  const row = event.target.closest && event.target.closest("tr[data-column]");
  if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
  const role = KEYS[event.key];
  if (!role || event.target.tagName === "SELECT") return;
  event.preventDefault();
  const marked = [...document.querySelectorAll("input[name=column]:checked")].map((one) => one.value);
  giveRole(marked.includes(row.dataset.column) ? marked : [row.dataset.column], role);
});

// A button is known again by what it says, a field by its name, a mark by its value, too.
function mark(one) {
  const own = one.tagName === "BUTTON" ? one.textContent : one.type === "checkbox" ? one.value : "";
  return [one.tagName, one.type, one.name, one.getAttribute("aria-label"), own].join("|");
}

// What a change swaps is made anew, and the keyboard would be back at the top of the page: it goes
// to what it was on, or to the part that is new. And what was wrong before is not wrong any more.
document.addEventListener("htmx:beforeRequest", (event) => {
  const {xhr, target, elt, requestConfig} = event.detail;
  const held = document.activeElement;
  if (held && target && target.contains(held) && held !== target) xhr.held = mark(held);
  if (requestConfig.verb === "get") return;
  document.getElementById("notice").replaceChildren();
  forget(elt.closest("form"));
});

document.addEventListener("htmx:afterSettle", (event) => {
  const {xhr, target} = event.detail;
  if (!xhr || !xhr.held || document.activeElement !== document.body) return;
  const all = [...target.querySelectorAll("button, input, select, textarea, a")];
  const again = all.find((one) => mark(one) === xhr.held && !one.disabled);
  if (!again) target.tabIndex = -1;
  (again || target).focus({preventScroll: true});
});

// What somebody is writing stays when the recipe is shown anew, with the version that it was written
// for: whoever takes it is told of what was changed meanwhile, and neither is lost.
let caret = null;

document.addEventListener("htmx:oobBeforeSwap", (event) => {
  const {target, fragment} = event.detail;
  const [old, anew] = [target, fragment].map((one) => one.querySelector("#recipe-text"));
  if (!old || !anew) return;
  caret = document.activeElement === old ? [old.selectionStart, old.selectionEnd] : null;
  if (old.value === old.defaultValue) return;
  anew.value = old.value;
  anew.form.elements.version.value = old.form.elements.version.value;
});

document.addEventListener("htmx:oobAfterSwap", () => {
  const text = document.getElementById("recipe-text");
  if (caret && document.activeElement !== text) {
    text.focus({preventScroll: true});
    text.setSelectionRange(...caret);
  }
  caret = null;
});

// Once it is taken, or in the history, it is written no more.
document.addEventListener("htmx:beforeSwap", (event) => {
  const text = document.getElementById("recipe-text");
  const {requestConfig, isError} = event.detail;
  if (requestConfig.path === "/recipe/text" && !isError) text.value = text.defaultValue;
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

function forget(form) {
  if (!form) return;
  for (const one of form.querySelectorAll(".error")) one.remove();
  for (const one of form.querySelectorAll("[aria-invalid]")) one.removeAttribute("aria-invalid");
}

// Say what is wrong with a form beside the field that it is about, or where the form ends.
function beside(form, said) {
  if (!form) return;
  forget(form);
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

const GONE = "The app is not running any more. Start it again: nothing was lost.";
const ANEW = "The app was started again: open it by the address that it printed. Nothing was lost.";

function say(said) {
  const line = document.createElement("p");
  line.className = "notice";
  line.textContent = said;
  document.getElementById("notice").replaceChildren(line);
}

// What the server refuses, it says in one sentence.
document.addEventListener("htmx:responseError", (event) => {
  const found = new DOMParser().parseFromString(event.detail.xhr.responseText, "text/html");
  const said = found.querySelector(".notice");
  const gone = event.detail.xhr.status === 401;
  const words = said ? said.textContent : gone ? ANEW : "The app did not answer; reload the page.";
  say(words);
  beside(event.detail.elt.closest("form"), words);
  waitNoMore(event.detail.target);
});

document.addEventListener("htmx:sendError", (event) => {
  say(GONE);
  waitNoMore(event.detail.target);
});

// What was waited for does not come.
function waitNoMore(target) {
  for (const one of target.querySelectorAll(".waiting")) one.remove();
}

// A browser has six connections to a host for all tabs together: a tab that nobody looks at gives
// its own back, or a seventh would wait for ever. News that it missed come first when it is back.
let news = null;

function follow() {
  if (document.hidden && news) {
    news.close();
    news = null;
  } else if (!document.hidden && !news) {
    const events = news = new EventSource("/events");
    events.addEventListener("runs", () => htmx.trigger(document.body, "runs"));
    // A run would seem to go on for ever. The first error may be a page that is left.
    let errors = 0;
    events.addEventListener("open", () => { errors = 0; });
    events.addEventListener("error", () => {
      errors += 1;
      if (events.readyState === EventSource.CLOSED) say(ANEW);
      else if (errors > 1) say(GONE);
    });
  }
}

if (document.querySelector("[data-runs]")) {
  follow();
  document.addEventListener("visibilitychange", follow);
}
