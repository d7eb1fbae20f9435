/** A million bytes of hostile bodies: the ingress answers each, lives on, and gives nothing away. */
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { createLog } from "../../../lambdas/shared/log.ts";
import type { Ingress, IngressRequest } from "../../../lambdas/verification/ingress/ingress.ts";
import { startVerificationServer, type VerificationServer } from "../../../lambdas/verification/ingress/server.ts";
import { send } from "./send.ts";
import { setUp } from "./setup.ts";
import { bytesOf, fixture, formOf, secret, signed } from "./slack-request.ts";

const totalBytes = 1_000_000;
const socketBytes = 200_000;
/** Stands where a user's text does: it may reach the queue and nothing else. */
const canary = "canary-4711";

const names = [
  "app-mention",
  "message-im",
  "file-share",
  "message-changed",
  "own-message",
  "assistant-thread-started",
  "url-verification",
];
const keys = [
  ...new Set(
    [...names, "slash-command", "block-actions"].flatMap((name) => [
      ...Object.keys(fixture(name)),
      ...Object.keys(fixture(name).event ?? {}),
    ]),
  ),
];
const odd = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom(null, "", 0, -1, 1e308, [], {}, "__proto__", "constructor", "\u0000", "\ud800", "U0BOT00001"),
);

/** An event as Slack sends it, with some fields gone or of another kind. */
const almostEvent = fc
  .record({ name: fc.constantFrom(...names), outer: changes(), inner: changes() })
  .map(({ name, outer, inner }) => {
    const payload = fixture(name);
    const event = payload.event && { ...payload.event, text: `<@U0BOT00001> ${canary}`, ...inner };
    return bytesOf({ ...payload, ...(event ? { event } : {}), ...outer });
  });
/** A slash command or a button, as odd. */
const almostForm = fc
  .record({ name: fc.constantFrom("slash-command", "block-actions"), outer: changes() })
  .map(({ name, outer }) => {
    const payload = { ...fixture(name), text: canary, ...outer };
    return formOf(name === "slash-command" ? payload : { payload: JSON.stringify(payload) });
  });
const brokenEvent = fc
  .tuple(fc.oneof(almostEvent, almostForm), fc.nat(), fc.nat({ max: 255 }), fc.boolean())
  .map(([bytes, at, value, cut]) => {
    const index = at % bytes.length;
    if (cut) return bytes.subarray(0, index);
    const changed = Buffer.from(bytes);
    changed[index] = value;
    return changed;
  });
const deep = fc.integer({ min: 1, max: 20_000 }).map((depth) => Buffer.from(`{"event":${"[".repeat(depth)}`));
const hostile = fc.oneof(
  fc.uint8Array({ maxLength: 4000 }).map((bytes) => Buffer.from(bytes)),
  fc.json({ maxDepth: 8 }).map((text) => Buffer.from(text)),
  almostEvent,
  almostForm,
  brokenEvent,
  deep,
);
const header = fc.constantFrom("", "0", "v0=", "v0=00", `v0=${"0".repeat(64)}`, "NaN", "1762750300", "garbage");
const unsigned = (body: Uint8Array) =>
  fc.tuple(header, header).map(([timestamp, signature]): IngressRequest => {
    return {
      headers: [
        ["X-Slack-Request-Timestamp", timestamp],
        ["X-Slack-Signature", signature],
      ],
      body,
    };
  });
const anyRequest = hostile.chain((body) =>
  fc.oneof(
    fc.constant({ request: signed({ body }), isSigned: true }),
    unsigned(body).map((request) => ({ request, isSigned: false })),
  ),
);

/** Plays requests until that many bytes have been sent; the seed of a failing one is printed by fast-check. */
async function play(
  bytesToSend: number,
  property: (one: { request: IngressRequest; isSigned: boolean }) => Promise<void>,
) {
  let bytes = 0;
  while (bytes < bytesToSend) {
    await fc.assert(
      fc.asyncProperty(anyRequest, async (one) => {
        bytes += one.request.body.byteLength;
        await property(one);
      }),
      { numRuns: 100 },
    );
  }
}

function changes() {
  return fc.dictionary(fc.constantFrom(...keys), odd, { maxKeys: 3 });
}

function expectNothingGivenAway(text: string): void {
  for (const kept of [secret, canary, "SyntaxError", "ZodError", "Unexpected", "    at "])
    expect(text).not.toContain(kept);
}

describe("hostile bodies", () => {
  it("are answered with 200 when signed and 401 when not, and leave no text in answers and logs", async () => {
    const { ingress, asks, lines } = setUp();
    const seen = new Set<number>();
    await play(totalBytes, async ({ request, isSigned }) => {
      const before = asks.length;
      const { status, body } = await ingress(request);
      seen.add(status);
      expect(status).toBe(isSigned ? 200 : 401);
      if (!isSigned) expect([body, asks.length]).toEqual(["", before]);
      expectNothingGivenAway(body);
    });
    expect([...seen].sort()).toEqual([200, 401]);
    // How many of the random bodies are events for the bot varies; that some are shows that they get that far.
    expect(asks.length).toBeGreaterThan(0);
    expectNothingGivenAway(lines.join(""));
  });

  describe("over a real socket", () => {
    const lines: string[] = [];
    let server: VerificationServer;
    beforeAll(async () => {
      const ingress: Ingress = setUp().ingress;
      const log = createLog({ service: "verification", level: "debug", write: (line) => lines.push(line) });
      server = await startVerificationServer({ ingress, port: 0, log });
    });
    afterAll(() => server.close());

    it("are answered with 200, 400 or 401, and the server lives on", async () => {
      await play(socketBytes, async ({ request, isSigned }) => {
        const { status, body } = await send({ url: `${server.url}/slack/events`, ...request });
        expect(isSigned ? [200] : [400, 401]).toContain(status);
        expectNothingGivenAway(body);
      });
      expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
      expectNothingGivenAway(lines.join(""));
    });
  });
});
