import { createServer } from "node:http";
import { createServer as createSocketServer, type Socket } from "node:net";
import { beforeEach, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { boundedFetch, slackRetryDelayMs, toSlackError } from "../../../../lambdas/verification/slack/api/call.ts";
import type { SlackErrorKind } from "../../../../lambdas/verification/task/events.ts";
import { forAll } from "../../../doubles/for-all.ts";
import { listen } from "../../../doubles/serving.ts";

/** What a POST to a server comes to that does with its connections as it likes. */
async function post({ scheme, onConnection }: { scheme: "http" | "https"; onConnection: (socket: Socket) => void }) {
  const port = await listen(createSocketServer((socket) => onConnection(socket.on("error", () => {}))));
  const request = boundedFetch({ signal: AbortSignal.timeout(10_000) });
  return request(`${scheme}://127.0.0.1:${port}/`, { method: "POST", body: "hello" }).then(
    () => undefined,
    (thrown: unknown) => toSlackError(thrown).kind,
  );
}

const plainHttp = (socket: Socket) => void socket.once("data", () => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));

/** A fatal alert, handshake_failure (RFC 8446, section 6). */
const refuseTls = (socket: Socket) => void socket.once("data", () => socket.end(Buffer.from("15030300020228", "hex")));
const hangUp = (socket: Socket) => void socket.once("data", () => socket.destroy());

describe("a call whose connection fails", () => {
  it.each([
    ["the other side speaks no TLS", plainHttp],
    ["the other side refuses TLS", refuseTls],
    ["the other side hangs up in the handshake", hangUp],
  ])("was certainly not made where %s", async (_what, onConnection) => {
    expect(await post({ scheme: "https", onConnection })).toBe("unavailable");
  });

  it("may have been made where the other side hangs up on the request", async () => {
    expect(await post({ scheme: "http", onConnection: hangUp })).toBe("ambiguous");
  });

  it.each(["EPROTO", "ERR_SSL_WRONG_VERSION_NUMBER", "ECONNRESET"])(
    "may have been made where %s came in the middle of it",
    (code) => {
      const cause = Object.assign(new Error("on an open connection"), { code });
      expect(toSlackError(new TypeError("fetch failed", { cause })).kind).toBe("ambiguous");
    },
  );
});

describe("the fetch of the Slack client", () => {
  let url: string;
  beforeEach(async () => {
    const server = createServer((request, response) => {
      if (request.url === "/stalls") return void response.write("begun");
      // No length is announced, so only reading tells how much there is.
      response.write("x".repeat(600));
      response.end("x".repeat(600));
    });
    url = `http://127.0.0.1:${await listen(server)}`;
  });
  const signal = new AbortController().signal;

  it("reads a body up to the bound", async () => {
    const response = await boundedFetch({ signal, maxBytes: 1200 })(`${url}/`);
    expect((await response.text()).length).toBe(1200);
  });

  it("reads no body beyond it", async () => {
    await expect(boundedFetch({ signal, maxBytes: 1199 })(`${url}/`)).rejects.toThrow(/larger/);
  });

  it("ends with its signal while the body stalls", async () => {
    const bounded = boundedFetch({ signal: AbortSignal.timeout(100) });
    await expect(bounded(`${url}/stalls`)).rejects.toThrow();
  });
});

const terminal: readonly SlackErrorKind[] = ["gone", "no_such_message", "refused"];
const passing: readonly SlackErrorKind[] = ["rate_limited", "unavailable"];

const input = fc.record({
  kind: fc.constantFrom(...terminal, ...passing, "ambiguous" as const),
  retryAfterMs: fc.option(fc.nat(120_000), { nil: undefined }),
  attempt: fc.nat(6),
  repeatable: fc.boolean(),
  maxDelayMs: fc.integer({ min: 3000, max: 60_000 }),
  random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }).map((value) => () => value),
});

function delayOf({ kind, retryAfterMs, ...rest }: Given) {
  return slackRetryDelayMs({ error: { kind, retryAfterMs }, ...rest });
}

type Given = typeof input extends fc.Arbitrary<infer T> ? T : never;

describe("repeating a Slack call", () => {
  it("never happens for what is terminal, nor for a post that may have landed", () => {
    forAll(input).hold((given) => {
      fc.pre(terminal.includes(given.kind) || (given.kind === "ambiguous" && !given.repeatable));
      expect(delayOf(given)).toBeUndefined();
    });
  });

  it("happens for everything else, three times in all at most", () => {
    forAll(input).hold((given) => {
      fc.pre(passing.includes(given.kind) || (given.kind === "ambiguous" && given.repeatable));
      const delay = delayOf({ ...given, retryAfterMs: undefined });
      if (given.attempt < 2) expect(delay).toBeGreaterThanOrEqual(0);
      else expect(delay).toBeUndefined();
    });
  });

  it("waits exactly as long as Slack asks for, or not at all", () => {
    forAll(input).hold((given) => {
      const { retryAfterMs, maxDelayMs } = given;
      const delay = delayOf({ ...given, kind: "rate_limited", attempt: 0 });
      if (retryAfterMs === undefined) return;
      expect(delay).toBe(retryAfterMs <= maxDelayMs ? retryAfterMs : undefined);
    });
  });
});
