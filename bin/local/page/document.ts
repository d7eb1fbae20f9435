/** The page as one document: style and script inlined, and a policy that lets nothing else in. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

export type PageDocument = { html: string; contentSecurityPolicy: string };

export function loadDocument(): PageDocument {
  const style = ["./page.css", "./thread.css", "./way.css"].map(read).join("\n");
  const script = read("./client.js");
  const html = read("./index.html")
    .replace("<style></style>", () => `<style>${style}</style>`)
    .replace("<script></script>", () => `<script type="module">${script}</script>`);
  const contentSecurityPolicy = [
    "default-src 'none'",
    `style-src '${hashOf(style)}'`,
    `script-src '${hashOf(script)}'`,
    "img-src data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
  return { html, contentSecurityPolicy };
}

function read(file: string): string {
  return readFileSync(new URL(file, import.meta.url), "utf8");
}

function hashOf(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}
