import { describe, expect, it } from "@jest/globals";
import {
  createDownload,
  detectMimetype,
  isSignInPage,
} from "@sekisho/verification/files/attachments.ts";
import { isSlackFileUrl } from "@sekisho/verification/files/files.ts";
import { SlackError } from "@sekisho/verification/slack/api/slack.ts";
import { serve } from "../../doubles/serving.ts";
import { connectionReset, type Received } from "../../doubles/web-server.ts";
import { gif, pdf, png, zip } from "./sample-files.ts";

const token = "xoxb-of-the-test";

/** `seen` are the authorization headers of all requests. */
async function start(answer: (call: Received) => Response | Promise<Response>) {
  const { url, received: requests } = await serve(answer);
  return { url, seen: () => requests.map(({ request }) => request.headers.get("authorization")) };
}

type FetchFromOptions = { url: string; apiUrl?: string; maxBytes?: number; timeoutMs?: number };

function fetchFrom({ url, apiUrl = url, maxBytes = 1000, timeoutMs = 5000 }: FetchFromOptions) {
  const download = createDownload({ apiUrl, timeoutMs, now: () => 0 });
  return download({ url, token, maxBytes, signal: new AbortController().signal });
}

function redirect(location: string): Response {
  return new Response(null, { status: 302, headers: { location } });
}

describe("a file of a message", () => {
  it("fetches a file from Slack with the bot token", async () => {
    const { url, seen: readAuthorizations } = await start(
      () => new Response("bytes", { headers: { "content-type": "text/csv" } }),
    );
    const fetchedFile = await fetchFrom({ url });
    expect(fetchedFile).toEqual({ bytes: Buffer.from("bytes"), contentType: "text/csv" });
    expect(readAuthorizations()).toEqual([`Bearer ${token}`]);
  });

  it("refuses to fetch a file from anywhere else", async () => {
    const elsewhere = await start(() => new Response("bytes"));
    const refusal = await fetchFrom({ url: elsewhere.url, apiUrl: "https://slack.com/api/" });
    expect(refusal).toEqual({ refused: "not_to_be_had" });
    expect(await fetchFrom({ url: "no address", apiUrl: elsewhere.url })).toEqual({
      refused: "not_to_be_had",
    });
    expect(elsewhere.seen()).toEqual([]);
  });

  it("follows a limited number of redirects within Slack with the token", async () => {
    const { url, seen } = await start(({ target }) =>
      target === "/moved" ? new Response("bytes") : redirect("/moved"),
    );
    expect(await fetchFrom({ url: `${url}/first`, apiUrl: url })).toMatchObject({
      bytes: Buffer.from("bytes"),
    });
    expect(seen()).toEqual([`Bearer ${token}`, `Bearer ${token}`]);

    const circle = await start(() => redirect("/again"));
    expect(await fetchFrom({ url: circle.url })).toEqual({ refused: "not_to_be_had" });
    expect(circle.seen()).toHaveLength(4);
  });

  it("follows no redirect to another host and sends it nothing", async () => {
    const elsewhere = await start(() => new Response("bytes"));
    const { url } = await start(() => redirect(`${elsewhere.url}/a`));
    expect(await fetchFrom({ url })).toEqual({ refused: "not_to_be_had" });
    expect(elsewhere.seen()).toEqual([]);
  });

  it("cuts off a file that is larger than allowed", async () => {
    const chunk = new Uint8Array(64 * 1024);
    const mostBytes = 64 * 1024 * 1024;
    let sentBytes = 0;
    const cancellation = Promise.withResolvers<void>();
    const endless = new ReadableStream({
      pull(controller) {
        controller.enqueue(chunk);
        sentBytes += chunk.byteLength;
        if (sentBytes >= mostBytes) controller.close();
      },
      cancel: () => cancellation.resolve(),
    });
    const { url } = await start(() => new Response(endless));
    expect(await fetchFrom({ url, maxBytes: 100_000 })).toEqual({ refused: "too_large" });
    await cancellation.promise;
    // What was under way in the buffers of both sides.
    expect(sentBytes).toBeLessThan(mostBytes / 2);
  });

  it("refuses a file by its announced length and accepts one of exactly the limit", async () => {
    const of = (body: ReadableStream | string, length: number) =>
      start(() => new Response(body, { headers: { "content-length": `${length}` } }));
    const { url } = await of(new ReadableStream(), 1001);
    expect(await fetchFrom({ url })).toEqual({ refused: "too_large" });
    const fitting = await of("x".repeat(1000), 1000);
    expect(await fetchFrom({ url: fitting.url })).toMatchObject({ bytes: { byteLength: 1000 } });
  });

  it.each([301, 400, 401, 403, 404, 410])(
    "refuses a file when Slack answers %d",
    async (status) => {
      const { url } = await start(() => new Response("no", { status }));
      expect(await fetchFrom({ url })).toEqual({ refused: "not_to_be_had" });
    },
  );

  it.each([408, 500, 502, 503])(
    "reports a file as unavailable when Slack answers %d",
    async (status) => {
      const { url } = await start(() => new Response("no", { status }));
      await expect(fetchFrom({ url })).rejects.toMatchObject({
        name: "SlackError",
        kind: "unavailable",
      });
    },
  );

  it("reports the delay that Slack asks for", async () => {
    const { url } = await start(
      () => new Response("no", { status: 429, headers: { "retry-after": "7" } }),
    );
    await expect(fetchFrom({ url })).rejects.toMatchObject({
      kind: "rate_limited",
      retryAfterMs: 7000,
    });
  });

  it("reports a file as unavailable if the connection breaks or no answer comes", async () => {
    const brokenServer = await start(() => Promise.reject(connectionReset));
    const half = new ReadableStream({
      start(controller) {
        controller.enqueue(new Uint8Array(10));
        setTimeout(() => controller.error(new Error("cut")), 20);
      },
    });
    const cut = await start(() => new Response(half));
    const silent = await start(() => new Promise(() => {}));
    for (const [{ url }, timeoutMs] of [
      [brokenServer, 5000],
      [cut, 5000],
      [silent, 50],
    ] as const) {
      const failure: unknown = await fetchFrom({ url, timeoutMs }).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(SlackError);
      expect(failure).toMatchObject({ kind: "unavailable" });
      expect(JSON.stringify(failure)).not.toContain(token);
    }
  });
});

const text = (words: string) => Buffer.from(words, "utf8");

describe("the type of a file", () => {
  it.each([
    ["a picture that is claimed to be another", gif, "image/png", "image/gif"],
    ["a document that is claimed to be text", pdf, "text/plain", "application/pdf"],
    ["an archive that is claimed to be a picture", zip, "image/png", "application/zip"],
    ["text that is claimed to be a picture", text("hello"), "image/png", "text/plain"],
    [
      "a program that is claimed to be text",
      Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0, 0, 0, 0]),
      "text/csv",
      "application/x-elf",
    ],
    [
      "bytes that are claimed to be text",
      Buffer.from([1, 2, 3, 0, 5]),
      "text/plain",
      "application/octet-stream",
    ],
    [
      "bytes that are claimed to be a picture",
      Buffer.from([1, 2, 3, 0, 5]),
      "image/png",
      "application/octet-stream",
    ],
    ["text without a claimed type", text("hello"), "application/octet-stream", "text/plain"],
    [
      "text that is claimed to be a spreadsheet",
      text("a,b\n1,2\n"),
      "application/vnd.ms-excel",
      "text/plain",
    ],
    ["bytes without a valid claimed type", png, "x\r\ny: z", "image/png"],
  ])("takes the type from the bytes: %s", async (_what, bytes, claimedMimetype, mimetype) => {
    expect(await detectMimetype({ bytes, claimedMimetype })).toBe(mimetype);
  });

  it.each([
    ["a table", text("a,b\n1,2\n"), "text/csv"],
    ["a program", text("#!/bin/sh\necho\n"), "application/x-sh"],
    ["JSON", text("{}"), "application/json"],
    [
      "a drawing",
      text('<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>'),
      "image/svg+xml",
    ],
    ["a page", text("<!doctype html><p>hello"), "text/html"],
    ["an office document in an unknown format", zip, "application/vnd.example.sheet"],
    [
      "bytes of a kind that has no signature",
      Buffer.from([1, 2, 3, 0, 5]),
      "application/x-fortran-data",
    ],
    ["an empty file", new Uint8Array(), "text/plain"],
    ["Japanese in Shift_JIS", Buffer.from([0x8a, 0xd6, 0x8f, 0x8a, 0x0d, 0x0a]), "text/csv"],
    ["text in UTF-16", Buffer.from("\ufeffa,b", "utf16le"), "text/csv"],
  ])(
    "keeps the type from Slack if the bytes allow it: %s",
    async (_what, bytes, claimedMimetype) => {
      expect(await detectMimetype({ bytes, claimedMimetype: claimedMimetype.toUpperCase() })).toBe(
        claimedMimetype,
      );
    },
  );
});

/** An archive of stored entries, as its local headers, without the directory at the end. */
function archiveOf(entries: readonly (readonly [name: string, bytes: Uint8Array])[]): Buffer {
  return Buffer.concat(
    entries.flatMap(([name, bytes]) => {
      const header = Buffer.alloc(30);
      header.writeUInt32LE(0x04034b50);
      header.writeUInt32LE(bytes.length, 18);
      header.writeUInt32LE(bytes.length, 22);
      header.writeUInt16LE(name.length, 26);
      return [header, Buffer.from(name), bytes];
    }),
  );
}

describe("a large archive", () => {
  const word = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
  const large = Buffer.alloc(2_000_000, "x");
  const types = text(`<Types><Override ContentType="${word}.main+xml"/></Types>`);

  it("reads only the first 64 KiB of an archive to detect its type", async () => {
    const bytes = archiveOf([
      ["a.bin", large],
      ["b.bin", large],
    ]);
    const lengths: number[] = [];
    const subarray = bytes.subarray.bind(bytes);
    const sample = Object.assign(bytes, {
      subarray(start?: number, end?: number) {
        lengths.push(subarray(start, end).length);
        return subarray(start, end);
      },
    });
    expect(
      await detectMimetype({ bytes: sample, claimedMimetype: "application/octet-stream" }),
    ).toBe("application/zip");
    expect(lengths).toEqual([64 * 1024, 4]);
  });

  it.each<[string, Buffer, string, string]>([
    [
      "names its types first",
      archiveOf([
        ["[Content_Types].xml", types],
        ["word/a.bin", large],
      ]),
      "x/y",
      word,
    ],
    [
      "begins with a folder of Word",
      archiveOf([
        ["word/a.bin", large],
        ["[Content_Types].xml", types],
      ]),
      "x/y",
      word,
    ],
    [
      "shows no type in its beginning",
      archiveOf([
        ["a.bin", large],
        ["[Content_Types].xml", types],
      ]),
      word,
      word,
    ],
    [
      "shows no type in its beginning, and is claimed to be a picture",
      archiveOf([
        ["a.bin", large],
        ["[Content_Types].xml", types],
      ]),
      "image/png",
      "application/zip",
    ],
  ])("detects the type of an archive that %s", async (_what, bytes, claimedMimetype, mimetype) => {
    expect(await detectMimetype({ bytes, claimedMimetype })).toBe(mimetype);
  });
});

it.each([
  ["II*\0", false],
  ["MM\0*", true],
])("finds a TIFF by the directory at its end (%j)", async (mark, isBigEndian) => {
  const bytes = Buffer.alloc(100_020);
  bytes.write(mark, "latin1");
  if (isBigEndian) bytes.writeUInt32BE(100_000, 4);
  else bytes.writeUInt32LE(100_000, 4);
  expect(await detectMimetype({ bytes, claimedMimetype: "image/tiff" })).toBe("image/tiff");
});

describe("a sign-in page instead of a file", () => {
  const page = text("\ufeff<!-- Slack -->\n<!DOCTYPE html><html><title>Sign in</title>");

  it("recognizes a sign-in page by its header or by its first bytes", () => {
    const image = { bytes: page, claimedMimetype: "image/png", name: "a.png" };
    expect(isSignInPage({ ...image, contentType: "text/html; charset=utf-8" })).toBe(true);
    expect(isSignInPage({ ...image, contentType: "image/png" })).toBe(true);
    expect(
      isSignInPage({
        bytes: page,
        claimedMimetype: "text/plain",
        name: "a.txt",
        contentType: "Text/HTML",
      }),
    ).toBe(true);
  });

  it("skips any number of comments before the page and stops at an unclosed one", () => {
    // An expression that tries each way to split the comments would not end before the universe does.
    const comments = "<!-- a --> ".repeat(80);
    const isPage = (start: string) =>
      isSignInPage({
        bytes: text(start),
        claimedMimetype: "image/png",
        name: "a.png",
        contentType: "image/png",
      });
    expect([
      isPage(`${comments}<html>`),
      isPage(`${comments}<p>`),
      isPage(`${comments}<!-- a`),
    ]).toEqual([true, false, false]);
  });

  it("does not mistake an attached web page, a text or a picture for a sign-in page", () => {
    expect(
      isSignInPage({
        bytes: page,
        claimedMimetype: "text/html",
        name: "a",
        contentType: "text/html",
      }),
    ).toBe(false);
    expect(
      isSignInPage({
        bytes: page,
        claimedMimetype: "text/plain",
        name: "a.HTM",
        contentType: "text/html",
      }),
    ).toBe(false);
    expect(
      isSignInPage({
        bytes: page,
        claimedMimetype: "text/plain",
        name: "a.vue",
        contentType: "text/plain",
      }),
    ).toBe(false);
    expect(
      isSignInPage({
        bytes: png,
        claimedMimetype: "image/png",
        name: "a.png",
        contentType: "image/png",
      }),
    ).toBe(false);
  });
});

const realApi = "https://slack.com/api/";
const localApi = "http://127.0.0.1:8123/api/";

describe("the addresses that get the bot token", () => {
  it.each([
    "https://files.slack.com/files-pri/T1-F1/a.png",
    "https://files.slack.com/files-pri/T1-F1/download/a.png",
    "https://files-origin.slack.com/files-pri/T1-F1/a.png",
    "https://slack.com/files-pri/T1-F1/a.png",
    "https://slack-files.com/T1-F1-abc",
    "https://team.slack-files.com/files-pri/T1-F1/a.png",
    "https://files.slack-gov.com/files-pri/T1-F1/a.png",
    "https://files.slack.com:443/files-pri/T1-F1/a.png",
  ])("sends the bot token to %s", (url) => {
    expect(isSlackFileUrl({ url: new URL(url), apiUrl: realApi })).toBe(true);
  });

  it.each([
    ["without TLS", "http://files.slack.com/files-pri/T1-F1/a.png"],
    ["on another port", "https://files.slack.com:8443/files-pri/T1-F1/a.png"],
    ["with credentials", "https://files.slack.com@evil.example/a.png"],
    ["with a password in it", "https://u:p@files.slack.com/files-pri/T1-F1/a.png"],
    ["that only begins like Slack", "https://files.slack.com.evil.example/a.png"],
    ["that only ends like Slack", "https://evilslack-files.com/a.png"],
    ["where Slack asks to sign in", "https://slack.com/?redir=%2Ffiles-pri%2FT1-F1%2Fa.png"],
    ["of a workspace's sign-in page", "https://team.slack.com/files-pri/T1-F1/a.png"],
    ["of a file that is not Slack's", "https://docs.google.com/document/d/1"],
    ["on this machine", "http://127.0.0.1:8123/files-pri/T1-F1/a.png"],
    ["that is not a web address", "file:///etc/passwd"],
  ])("sends no bot token to an address %s", (_what, url) => {
    expect(isSlackFileUrl({ url: new URL(url), apiUrl: realApi })).toBe(false);
  });

  it("sends the bot token only to the fake Slack if one is configured on this machine", () => {
    const may = (url: string) => isSlackFileUrl({ url: new URL(url), apiUrl: localApi });
    expect(may("http://127.0.0.1:8123/anything")).toBe(true);
    expect(may("http://127.0.0.1:8124/anything")).toBe(false);
    expect(may("http://localhost:8123/anything")).toBe(false);
    expect(may("https://files.slack.com/files-pri/T1-F1/a.png")).toBe(false);
  });

  it("refuses the bot token to an API origin that is neither Slack nor on this machine", () => {
    const url = new URL("https://slack.example/files-pri/T1-F1/a.png");
    expect(isSlackFileUrl({ url, apiUrl: "https://slack.example/api/" })).toBe(false);
  });
});
