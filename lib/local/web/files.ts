/** The files of a page: one HTML shell for every document, scripts, and style sheets. */
import { readdirSync, readFileSync } from "node:fs";
import { extname } from "node:path";
import { type ClientFiles, readClientFiles } from "./client-files.ts";
import { type Handler, type Routes, sendPage } from "./site.ts";

const types: Record<string, string> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
};

type PageFiles = { folder: URL; path: string; names?: readonly string[] };

/**
 * The scripts and style sheets of a folder, or those of them that `names` has. They import each other by paths that are the same on
 * disk and in the browser.
 */
export function fileRoutes({
  folder,
  path,
  names = readdirSync(folder).filter((name) => extname(name) in types),
}: PageFiles): Routes {
  return Object.fromEntries(
    names.map((name) => [`GET ${path}${name}`, fileHandler(new URL(name, folder))]),
  );
}

/** The files that every page uses. */
export const sharedRoutes = (): Routes => ({
  ...fileRoutes({ folder: new URL("./", import.meta.url), path: "/web/" }),
  ...clientRoutes(),
});

/** The web app's script and style sheet. A clone bundles them when a browser first asks. */
function clientRoutes(): Routes {
  let files: ClientFiles | undefined;
  const serve =
    (name: keyof ClientFiles): Handler =>
    ({ response }) => {
      files ??= readClientFiles();
      sendPage(response, { type: types[extname(name)] ?? "", body: files[name] });
    };
  return { "GET /web/app.js": serve("app.js"), "GET /web/app.css": serve("app.css") };
}

function fileHandler(file: URL): Handler {
  const type = types[extname(file.pathname)] ?? "";
  const body = readText(file);
  return ({ response }) => sendPage(response, { type, body });
}

const mark =
  '<svg class="mark" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="7"/><path d="M6 10h20M8 14h16M11 10v14M21 10v14"/></svg>';

type Sources = { code: string; images: string };

type PageDocument = {
  folder: URL;
  path: string;
  name: string;
  title: string;
  sources?: (host: string) => Sources;
};

/**
 * A document: the shell around the body in `NAME.html`, with the script `NAME.js` and the style sheet `page.css`. `sources` says from
 * where the browser may load scripts and styles, and images. Nothing in the document itself runs.
 */
export function documentHandler(options: PageDocument): Handler {
  const {
    folder,
    path,
    name,
    title,
    sources = () => ({ code: "'self'", images: "data:" }),
  } = options;
  const values = { title, path, name, body: readText(new URL(`${name}.html`, folder)), mark };
  const body = Object.entries(values).reduce(
    (text, [key, value]) => text.replaceAll(`{{${key}}}`, () => value),
    readText(new URL("./shell.html", import.meta.url)),
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

type AppDocument = {
  page: "local" | "operators" | "sign-in";
  title: string;
  sources?: (host: string) => Sources;
};

/** The document of the web app, which shows `page`. `sources` is as above. */
export function appDocument(options: AppDocument): Handler {
  const { page, title, sources = () => ({ code: "'self'", images: "data:" }) } = options;
  const body = Object.entries({ title, page }).reduce(
    (text, [key, value]) => text.replaceAll(`{{${key}}}`, () => value),
    readText(new URL("./app.html", import.meta.url)),
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

function readText(file: URL): string {
  return readFileSync(file, "utf8");
}
