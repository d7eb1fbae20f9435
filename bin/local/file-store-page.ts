/** Serves the files of a folder: each by its own signed URL, as something to save and never as a page to show. */
import { open } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Page } from "../../lambdas/verification/ingress/server.ts";
import type { FileSigner } from "./file-store-signer.ts";

const prefix = "/files/";
/** Nothing else is ever looked for on the disk: no dot, and one slash. */
const keyPattern = /^[A-Za-z0-9_-]{1,128}\/[A-Za-z0-9_-]{1,128}$/;

/** Where the file of that key is on the server. */
export function pathOf(key: string): string {
  return `${prefix}${key}`;
}

/** 403 for a URL that was not signed here, or whose time is over, whether or not there is such a file. */
export function createFilePage({
  folder,
  signer,
  now,
}: {
  folder: string;
  signer: FileSigner;
  now: () => number;
}): Page {
  return async (request, response) => {
    const url = URL.parse(request.url ?? "/", "http://localhost");
    if (!url?.pathname.startsWith(prefix)) return false;
    const { pathname, searchParams: query } = url;
    const key = pathname.slice(prefix.length);
    if (request.method !== "GET" && request.method !== "HEAD") return refuse(response, 405, { allow: "GET, HEAD" });
    if (!keyPattern.test(key)) return refuse(response, 404);
    if (signer.check({ key, query, nowMs: now() }) !== "valid") return refuse(response, 403);
    await serve({ file: join(folder, key), response, withBody: request.method === "GET" });
    return true;
  };
}

async function serve({
  file,
  response,
  withBody,
}: {
  file: string;
  response: ServerResponse;
  withBody: boolean;
}): Promise<void> {
  const handle = await open(file, "r").catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === "ENOENT") return undefined;
    throw thrown;
  });
  if (handle === undefined) {
    refuse(response, 404);
    return;
  }
  try {
    const { size } = await handle.stat();
    response.writeHead(200, {
      "content-type": "application/octet-stream",
      "content-length": size,
      "content-disposition": "attachment",
      "content-security-policy": "default-src 'none'; sandbox",
      "cross-origin-resource-policy": "same-origin",
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
    });
    if (!withBody) response.end();
    // A reader that hangs up is no failure of ours.
    else await pipeline(handle.createReadStream({ autoClose: false }), response).catch(() => response.destroy());
  } finally {
    await handle.close();
  }
}

function refuse(response: ServerResponse, status: number, headers: Record<string, string> = {}): true {
  response.writeHead(status, { "cache-control": "no-store", "content-length": 0, ...headers });
  response.end();
  return true;
}
