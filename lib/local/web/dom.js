/** Makes elements. All text goes in as text, never as HTML. */

export const $ = (id) => document.getElementById(id);

/**
 * `h("a.row.open", { href, onclick }, "text", child)`: an element with its classes, its properties or attributes, and its children.
 * Children that are false, undefined or "" are left out. The data-key of an element names it over all drawings; see `redraw`.
 */
export function h(selector, ...rest) {
  const hasProperties = rest[0]?.constructor === Object;
  const [properties, ...children] = hasProperties ? rest : [{}, ...rest];
  const [name, ...classes] = selector.split(".");
  const made = document.createElement(name);
  if (classes.length > 0) made.className = classes.join(" ");
  if (name === "button") made.type = "button";
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined) continue;
    if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(
    ...children.flat().filter((child) => child !== false && child !== undefined && child !== ""),
  );
  return made;
}

/** Replaces the children, and puts the focus back where it was. */
export function redraw(box, ...children) {
  const { key } = document.activeElement?.dataset ?? {};
  const isInside = key !== undefined && box.contains(document.activeElement);
  box.replaceChildren(...children.flat());
  if (isInside)
    box.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
}

/** Shows in the page's head whether the server can be reached. */
export function showConnection(text, isOn) {
  $("connection").textContent = text;
  $("connection").classList.toggle("on", isOn);
}

const tags = new Set(
  "p ul ol li pre code blockquote hr br a strong em del table tr th td".split(" "),
);

/** The elements of a tree of nodes. A tag that is not expected becomes a span. */
export function drawTree(nodes) {
  return nodes.map((node) =>
    typeof node === "string" ? document.createTextNode(node) : drawNode(node),
  );
}

function drawNode({ tag, children, href, lang, start }) {
  const inside = drawTree(children);
  if (tag === "a") return h("a", { href, target: "_blank", rel: "noopener noreferrer" }, inside);
  if (tag === "table") return h("div.wide", h("table", inside));
  if (tag === "h") return h("h3", inside);
  return h(tags.has(tag) ? tag : "span.mention", { start, "data-lang": lang }, inside);
}
