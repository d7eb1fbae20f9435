/** The page's files, read once: documents, scripts and styles, with a policy that lets nothing else in. */
import { readdirSync, readFileSync } from "node:fs";
import { extname } from "node:path";
import { sharedPath, sharedScript } from "../web/shared-script.ts";
import { base, signInPath } from "./paths.ts";

export type Asset = { type: string; text: string; isPublic: boolean };

const types: Record<string, string> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
};
/** What the form needs with which people sign in. */
const publicFiles = ["sign-in.js", "frame.css", "sign-in.css"];

export const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** By address. Scripts import each other as files do, and so their addresses lie like them. */
export function loadAssets(): ReadonlyMap<string, Asset> {
  const [scriptAddress, script] = sharedScript();
  const files = readdirSync(new URL("./page/", import.meta.url)).filter((name) => /\.(js|css)$/.test(name));
  return new Map<string, Asset>([
    [base, asset("./page/index.html", false)],
    [signInPath, asset("./page/sign-in.html", true)],
    ...files.map((name): [string, Asset] => [
      `${base}page/${name}`,
      asset(`./page/${name}`, publicFiles.includes(name)),
    ]),
    [scriptAddress, { type: types[".js"] ?? "", text: script, isPublic: true }],
    [`${sharedPath}colours.css`, asset("../web/colours.css", true)],
    [`${sharedPath}head.css`, asset("../web/head.css", true)],
  ]);
}

function asset(file: string, isPublic: boolean): Asset {
  const text = readFileSync(new URL(file, import.meta.url), "utf8");
  return { type: types[extname(file)] ?? "text/plain", text, isPublic };
}
