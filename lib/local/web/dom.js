/** Making elements. All text goes in as text, never as HTML, and a tree of nodes becomes those elements alone that are named here. */

const tags = {
  p: "p",
  h: "h3",
  ul: "ul",
  ol: "ol",
  li: "li",
  pre: "pre",
  code: "code",
  blockquote: "blockquote",
  hr: "hr",
  br: "br",
  a: "a",
  strong: "strong",
  em: "em",
  del: "del",
  table: "table",
  tr: "tr",
  th: "th",
  td: "td",
  mention: "span",
};

export const $ = (id) => document.getElementById(id);

export function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className !== "") made.className = className;
  made.append(...children);
  return made;
}

/** `key` names it over all drawings, so that the focus comes back to it. */
export function button({ className, label, key, onClick }) {
  const made = element("button", className, label);
  made.type = "button";
  made.dataset.key = key;
  made.onclick = onClick;
  return made;
}

export function drawTree(nodes) {
  return nodes.map((node) => (typeof node === "string" ? document.createTextNode(node) : drawNode(node)));
}

function drawNode({ tag, children, href, lang, start }) {
  const name = Object.hasOwn(tags, tag) ? tags[tag] : "span";
  const made = element(name, tag === "mention" ? "mention" : "", ...drawTree(children));
  if (tag === "a") {
    made.href = href;
    made.target = "_blank";
    made.rel = "noopener noreferrer";
  }
  if (start !== undefined) made.start = start;
  if (tag === "pre" && lang) made.dataset.lang = lang;
  return tag === "table" ? element("div", "wide", made) : made;
}

/** Puts the children in, and the focus back where it was. */
export function redraw(box, children) {
  const { key } = document.activeElement?.dataset ?? {};
  const isInside = key !== undefined && box.contains(document.activeElement);
  box.replaceChildren(...children);
  if (isInside) box.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
}
