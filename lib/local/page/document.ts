/** The page's document, its style inlined, and its scripts, with a policy that lets nothing else in. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { sharedPath, sharedScript } from "../web/shared-script.ts";

export type PageDocument = {
  html: string;
  /** By address. */
  scripts: ReadonlyMap<string, string>;
  /** For the page under that host: scripts and images come from the paths that are theirs, and from nowhere else. */
  contentSecurityPolicy(host: string): string;
};

/** The first is the one that the document starts. They import each other as files do, and so their addresses lie like them. */
const scripts = ["client.js", "composer.js", "draw-thread.js", "draw-way.js"];

const scriptPath = "/local/script/";
export const filePath = "/local/files/";

export function loadDocument(): PageDocument {
  const styles = [
    "../web/colours.css",
    "../web/head.css",
    "./page.css",
    "./thread.css",
    "./message.css",
    "./composer.css",
    "./way.css",
  ];
  const style = styles.map(read).join("\n");
  const html = read("./index.html").replace("<style></style>", () => `<style>${style}</style>`);
  return {
    html,
    scripts: new Map([
      ...scripts.map((name) => [`${scriptPath}${name}`, read(`./scripts/${name}`)] as const),
      sharedScript(),
    ]),
    contentSecurityPolicy: (host) =>
      [
        "default-src 'none'",
        `style-src '${hashOf(style)}'`,
        `script-src http://${host}${scriptPath} http://${host}${sharedPath}`,
        `img-src data: http://${host}${filePath}`,
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
      ].join("; "),
  };
}

function read(file: string): string {
  return readFileSync(new URL(file, import.meta.url), "utf8");
}

function hashOf(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}
