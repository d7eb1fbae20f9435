/** The files of the web app: one HTML document for every page, one script, and one style sheet. */
import { readFileSync } from "node:fs";
import { type ClientFiles, readClientFiles } from "./client-files.ts";
import { type Handler, type Routes, sendPage } from "./site.ts";

const types: Readonly<Record<keyof ClientFiles, string>> = {
  "app.js": "text/javascript; charset=utf-8",
  "app.css": "text/css; charset=utf-8",
};

/** The script and the style sheet. A clone bundles them when a browser first asks. */
export function clientRoutes(): Routes {
  let files: ClientFiles | undefined;
  const serve =
    (name: keyof ClientFiles): Handler =>
    ({ response }) => {
      files ??= readClientFiles();
      sendPage(response, { type: types[name], body: files[name] });
    };
  return { "GET /web/app.js": serve("app.js"), "GET /web/app.css": serve("app.css") };
}

type Sources = { code: string; images: string };

type AppDocument = {
  page: "local" | "operators" | "sign-in";
  title: string;
  sources?: (host: string) => Sources;
};

/**
 * The document of the web app, which shows `page`. `sources` says from where the browser may load scripts and styles, and images.
 * Nothing in the document itself runs.
 */
export function appDocument(options: AppDocument): Handler {
  const { page, title, sources = () => ({ code: "'self'", images: "data:" }) } = options;
  const body = Object.entries({ title, page }).reduce(
    (text, [key, value]) => text.replaceAll(`{{${key}}}`, () => value),
    readFileSync(new URL("./app.html", import.meta.url), "utf8"),
  );
  return ({ request: { headers }, response }) => {
    const policy = contentSecurityPolicy(sources(headers.host ?? ""));
    sendPage(response, {
      type: "text/html; charset=utf-8",
      body,
      headers: { "content-security-policy": policy },
    });
  };
}

function contentSecurityPolicy({ code, images }: Sources): string {
  const sources = `script-src ${code}; style-src ${code}; img-src ${images}; connect-src 'self'`;
  return `default-src 'none'; ${sources}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
}
