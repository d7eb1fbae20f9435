import { createHash } from "node:crypto";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { type LocalFileStore, openFileStore } from "@sekisho/local/file-store.ts";
import { createPublicFetch } from "@sekisho/runtime/public-fetch/public-fetch.ts";
import {
  startVerificationServer,
  type VerificationServer,
} from "@sekisho/verification/ingress/server.ts";

const hourMs = 3600_000;
const requestId = "0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d";
const words = Buffer.from("<script>alert(1)</script>");

let folder: string;
let store: LocalFileStore;
let server: VerificationServer;
let nowMs = 0;

beforeEach(async () => {
  nowMs = Date.now();
  folder = join(mkdtempSync(join(tmpdir(), "sekisho-files-")), "files");
  store = open();
  server = await startVerificationServer({
    ingress: async () => ({ status: 404, headers: {}, body: "" }),
    page: (request, response) => store.page(request, response),
    port: 0,
  });
});

afterEach(async () => {
  store.close();
  await server.close();
  rmSync(join(folder, ".."), { recursive: true, force: true });
});

function open(): LocalFileStore {
  return openFileStore({ folder, baseUrl: () => server.url, now: () => nowMs });
}

function put({
  bytes = words,
  id = "F1",
  lifeMs = hourMs,
}: {
  bytes?: Uint8Array;
  id?: string;
  lifeMs?: number;
} = {}) {
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const { signal } = new AbortController();
  const key = `${requestId}/${id}`;
  return store.put({
    key,
    bytes,
    mimetype: "text/html",
    sha256,
    expiresAtMs: nowMs + lifeMs,
    signal,
  });
}

/** Sends the path as it is. `fetch` would normalize it. */
function statusOf(path: string, method = "GET"): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const request = httpRequest(
    { host: "127.0.0.1", port: server.port, path, method },
    (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode));
    },
  );
  request.on("error", reject).end();
  return promise;
}

it("answers 404 to an address without a valid path", async () => {
  expect(await statusOf("//")).toBe(404);
  expect(await statusOf("http://")).toBe(404);
});

function changed(url: string, change: (url: URL) => void): URL {
  const copy = new URL(url);
  change(copy);
  return copy;
}

describe("files on one machine", () => {
  it("serves a file by its URL as a download and never as a page", async () => {
    const { url, expiresAtMs } = await put();
    const response = await fetch(url);
    expect(response.status).toBe(200);
    expect(Buffer.from(await response.arrayBuffer())).toEqual(words);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "application/octet-stream",
      "content-disposition": "attachment",
      "x-content-type-options": "nosniff",
      "content-security-policy": "default-src 'none'; sandbox",
      "cache-control": "no-store",
    });
    expect(expiresAtMs).toBe(nowMs + hourMs);
    const read = createPublicFetch({ allowLoopback: true });
    const { signal } = new AbortController();
    expect(Buffer.from(await read({ url, maxBytes: 100, timeoutMs: 20_000, signal }))).toEqual(
      words,
    );
    const head = await fetch(url, { method: "HEAD" });
    expect([head.status, head.headers.get("content-length")]).toEqual([200, `${words.byteLength}`]);
  });

  it("refuses a forged or expired URL and the URL of another file", async () => {
    const { url } = await put();
    const other = await put({ id: "F2" });
    const signature = new URL(other.url).searchParams.get("signature") ?? "";
    const forged = [
      changed(url, ({ searchParams }) => searchParams.set("signature", signature)),
      changed(url, ({ searchParams }) => searchParams.set("signature", "short")),
      changed(url, ({ searchParams }) => searchParams.delete("signature")),
      changed(url, ({ searchParams }) => searchParams.set("expires", `${nowMs + 48 * hourMs}`)),
      changed(url, (one) => {
        one.pathname = one.pathname.replace("F1", "F2");
      }),
      changed(url, (one) => {
        one.pathname = one.pathname.replace("F1", "F9");
      }),
    ];
    for (const one of forged) expect((await fetch(one)).status).toBe(403);
    nowMs += hourMs - 1;
    expect((await fetch(url)).status).toBe(200);
    nowMs += 1;
    expect((await fetch(url)).status).toBe(403);
  });

  it("serves neither a listing nor other files of the disk", async () => {
    const { url } = await put();
    const { search } = new URL(url);
    const paths = [
      "/files/",
      `/files/${requestId}`,
      `/files/${requestId}/`,
      "/files/signing.key",
      `/files/${requestId}/../signing.key`,
      `/files/${requestId}/..%2f..%2fsigning.key`,
      "/files/../lock.db",
      "/files/%2e%2e/verification.db",
      `/files//etc/passwd`,
      `/files/${requestId}/F1/F1`,
    ];
    for (const path of paths) expect([path, await statusOf(path + search)]).toEqual([path, 404]);
  });

  it("allows only reads, and leaves other paths to other handlers", async () => {
    const { url } = await put();
    const { pathname, search } = new URL(url);
    for (const method of ["POST", "PUT", "DELETE"])
      expect(await statusOf(pathname + search, method)).toBe(405);
    expect(await statusOf("/healthz")).toBe(200);
    expect(await statusOf("/file")).toBe(404);
  });

  it("serves a file after a restart by the URL from before", async () => {
    const { url } = await put();
    const key = readFileSync(join(folder, "signing.key"));
    store.close();
    store = open();
    expect((await fetch(url)).status).toBe(200);
    expect(readFileSync(join(folder, "signing.key"))).toEqual(key);
  });

  it("makes its files private to the user who runs it", async () => {
    await put();
    const modeOf = (...path: string[]) =>
      (statSync(join(folder, ...path)).mode & 0o777).toString(8);
    expect([modeOf(), modeOf(requestId)]).toEqual(["700", "700"]);
    expect([modeOf("signing.key"), modeOf(requestId, "F1")]).toEqual(["600", "600"]);
  });

  it("replaces a file as a whole when it is put again, and leaves nothing over", async () => {
    const first = await put({ bytes: Buffer.from("old") });
    await put({ bytes: Buffer.from("new bytes") });
    expect(await (await fetch(first.url)).text()).toBe("new bytes");
    expect(readdirSync(join(folder, requestId))).toEqual(["F1"]);
    // A folder is in the file's place.
    mkdirSync(join(folder, requestId, "F4", "inner"), { recursive: true });
    await expect(put({ id: "F4" })).rejects.toThrow();
    expect(readdirSync(join(folder, requestId))).toEqual(["F1", "F4"]);
  });

  it("deletes files after a day, with their folders, and keeps newer ones", async () => {
    const old = await put();
    await put({ id: "F2" });
    const before = new Date(nowMs - 25 * hourMs);
    utimesSync(join(folder, requestId, "F1"), before, before);
    writeFileSync(join(folder, requestId, "F3.part"), "");
    utimesSync(join(folder, requestId, "F3.part"), before, before);
    store.close();
    store = open();
    await until(() => readdirSync(join(folder, requestId)).length === 1);
    expect(readdirSync(join(folder, requestId))).toEqual(["F2"]);
    expect((await fetch(old.url)).status).toBe(404);

    nowMs += 26 * hourMs;
    store.close();
    store = open();
    await until(() => readdirSync(folder).length === 1);
    expect(readdirSync(folder)).toEqual(["signing.key"]);
  });

  it("refuses to start with an invalid signing key", () => {
    store.close();
    writeFileSync(join(folder, "signing.key"), "short");
    expect(open).toThrow(/signing\.key is no signing key/);
  });
});

/** The test's time-out bounds it. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 10));
}
