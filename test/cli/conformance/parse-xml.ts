/** A strict parser of the reports' XML: elements and attributes without text between them. */

export type Element = { name: string; attributes: Record<string, string>; children: Element[] };

const declaration = '<?xml version="1.0" encoding="UTF-8"?>';
const tag = /\s*<(\/?)([a-z]+)((?: [a-z]+="[^"<&\t\n\r]*(?:&(?:amp|lt|gt|quot|#\d+);[^"<&\t\n\r]*)*")*)(\/?)>/y;

/** Throws on anything else. */
export function parseXml(text: string): Element[] {
  if (!text.startsWith(declaration)) throw new Error("no declaration");
  const root: Element = { name: "", attributes: {}, children: [] };
  const open = [root];
  tag.lastIndex = declaration.length;
  let end = declaration.length;
  for (let found = tag.exec(text); found !== null; found = tag.exec(text)) {
    end = tag.lastIndex;
    const [, closing, name = "", attributes = "", selfClosing] = found;
    if (closing) {
      if (open.pop()?.name !== name) throw new Error(`</${name}> closes another element`);
      continue;
    }
    const element = { name, attributes: attributesIn(attributes), children: [] };
    open.at(-1)?.children.push(element);
    if (!selfClosing) open.push(element);
  }
  if (open.length !== 1 || text.slice(end).trim() !== "") throw new Error(`no XML from ${end} on`);
  return root.children;
}

function attributesIn(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(/ ([a-z]+)="([^"]*)"/g)].map(([, name, value = ""]) => [name, plain(value)]),
  );
}

function plain(text: string): string {
  const named: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"' };
  return text.replace(/&(?:#(\d+)|([a-z]+));/g, (_all, code, name) =>
    code === undefined ? (named[name] ?? "") : String.fromCodePoint(Number(code)),
  );
}
