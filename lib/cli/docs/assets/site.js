/** What the pages do beyond showing: buttons that copy code, and the search. Without it everything can still be read. */

const root = document.body.dataset.root ?? "";
const maxHits = 20;

addCopyButtons();
openSearch();

function addCopyButtons() {
  for (const block of document.querySelectorAll(".code")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      button.textContent = (await copy(block.querySelector("code"))) ? "Copied" : "Select and copy";
      setTimeout(() => {
        button.textContent = "Copy";
      }, 2000);
    });
    block.append(button);
  }
}

/** Where the page may not write to the clipboard, the code is selected, for the person to copy. */
async function copy(code) {
  try {
    await navigator.clipboard.writeText(code.textContent.trimEnd());
    return true;
  } catch {
    getSelection().selectAllChildren(code);
    return false;
  }
}

function openSearch() {
  const search = document.querySelector(".search");
  const input = search.querySelector("input");
  const hits = search.querySelector(".hits");
  const found = search.querySelector(".found");
  search.hidden = false;
  input.addEventListener("focus", loadIndex, { once: true });
  input.addEventListener("input", async () => {
    await loadIndex();
    const entries = find(input.value);
    hits.replaceChildren(...entries.slice(0, maxHits).map(hit));
    found.textContent = input.value.trim() === "" ? "" : countOf(entries.length);
  });
  addEventListener("keydown", (event) => {
    const typing = /^(?:input|textarea|select)$/i.test(document.activeElement?.tagName ?? "");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      input.focus();
    }
    if (event.key === "Escape" && search.contains(document.activeElement)) {
      input.value = "";
      input.dispatchEvent(new Event("input"));
      input.blur();
    }
  });
}

function countOf(count) {
  if (count === 0) return "Nothing found";
  if (count === 1) return "1 section";
  return count > maxHits ? `${count} sections, the best ${maxHits}` : `${count} sections`;
}

let loading;

/** As a script, since a page of a `file:` address may read no file. */
function loadIndex() {
  loading ??= new Promise((resolve) => {
    const script = document.createElement("script");
    script.src = `${root}assets/search.js`;
    script.addEventListener("load", resolve);
    script.addEventListener("error", resolve);
    document.head.append(script);
  });
  return loading;
}

/** Sections that hold every word; those whose heading does come first, then those that say it more often. */
function find(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const scored = (globalThis.sekishoSearch ?? []).map((entry) => ({ entry, score: scoreOf(entry, words) }));
  return scored
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score)
    .map(({ entry }) => ({ entry, words }));
}

function scoreOf({ page, section, text }, words) {
  const title = `${page} ${section}`.toLowerCase();
  const body = text.toLowerCase();
  let score = 0;
  for (const word of words) {
    const times = body.split(word).length - 1;
    const named = title.includes(word);
    if (times === 0 && !named) return 0;
    score += (named ? 20 : 0) + Math.min(times, 10);
  }
  return score;
}

function hit({ entry, words }) {
  const link = document.createElement("a");
  link.href = root + entry.url;
  link.append(
    element("strong", entry.section),
    element("span", entry.page === entry.section ? "" : entry.page),
    element("p", around(entry.text, words)),
  );
  const item = document.createElement("li");
  item.append(link);
  return item;
}

function element(tag, text) {
  const made = document.createElement(tag);
  made.textContent = text;
  return made;
}

function around(text, words) {
  const at = Math.max(0, text.toLowerCase().indexOf(words[0] ?? ""));
  const from = Math.max(0, at - 60);
  return `${from > 0 ? "…" : ""}${text.slice(from, at + 120)}${at + 120 < text.length ? "…" : ""}`;
}
