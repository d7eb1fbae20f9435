/** Where the links of a document lead in the site: to another page, to a copy of a file, or elsewhere. */
import { posix } from "node:path";

export type Links = {
  /** Throws where the document leads to something that there is not. */
  hrefOf(given: string): string;
  /** Files of the project that pages show or link to: what they are, and where the site has them. */
  copies: Map<string, string>;
};

const outside = /^(?:https?|mailto):/i;
const image = /\.(?:png|jpe?g|gif|svg|webp)$/i;

export function createLinks({
  source,
  target,
  targets,
  exists,
}: {
  source: string;
  target: string;
  /** By source, of every page. */
  targets: Map<string, string>;
  exists: (path: string) => boolean;
}): Links {
  const copies = new Map<string, string>();

  function hrefOf(given: string): string {
    if (outside.test(given)) return given;
    if (/^[a-z][a-z0-9+.-]*:|^\/|\\/i.test(given)) throw new Error(`${source}: ${given} is no link for a page.`);
    const [path = "", anchor] = given.split("#");
    const suffix = anchor === undefined ? "" : `#${anchor}`;
    if (path === "") return suffix;
    const file = posix.join(posix.dirname(source), decodeURI(path));
    return relativeTo(target, targets.get(file) ?? copyOf(file, given)) + suffix;
  }

  function copyOf(file: string, given: string): string {
    if (file.startsWith("..") || !exists(file)) throw new Error(`${source}: ${given} leads to nothing.`);
    // A browser shows a text, and runs nothing of it.
    const copy = image.test(file) ? `images/${posix.basename(file)}` : `files/${file}.txt`;
    copies.set(file, copy);
    return copy;
  }

  return { hrefOf, copies };
}

/** From the page `from` to `to`, both below the site's root: it works from any folder, and without a server. */
export function relativeTo(from: string, to: string): string {
  return encodeURI(posix.relative(posix.dirname(from), to) || posix.basename(to));
}
