/** The page as one document: style and script inlined, and a policy that lets nothing else in. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

export type PageDocument = { html: string; contentSecurityPolicy: string };

export function loadDocument(): PageDocument {
  const style = readFileSync(new URL("./page.css", import.meta.url), "utf8");
  const script = readFileSync(new URL("./client.js", import.meta.url), "utf8");
  const html = readFileSync(new URL("./index.html", import.meta.url), "utf8")
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

function hashOf(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}
