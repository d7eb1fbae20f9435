/** The doctor's checks of the entry for Slack's events: a running zone, one started for the checks, and other servers. */
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { createCachedSecret } from "../../../lambdas/shared/async/cached-secret.ts";
import { createIngress } from "../../../lambdas/verification/ingress/ingress.ts";
import {
  startVerificationServer,
  type VerificationServer,
} from "../../../lambdas/verification/ingress/server.ts";
import { type Entry, entryChecks } from "../../../lib/cli/doctor/slack.ts";
import { freePort } from "../../../lib/local/free-port.ts";
import { startWebServer, type WebServer } from "../../doubles/web-server.ts";
import { openMachine, secrets, told } from "./a-machine.ts";

const { SLACK_SIGNING_SECRET: secret, SLACK_BOT_TOKEN } = secrets;
const { signal } = new AbortController();
const machine = openMachine();
const queue = { send: jest.fn(async () => {}) };
let zone: VerificationServer;
let inFront: WebServer;
/** The answer of a server that is not an entry. */
let answer: (request: Request) => Response | Promise<Response> = () =>
  new Response(null, { status: 404 });

beforeAll(async () => {
  const signing = createCachedSecret({ readSecret: async () => secret });
  zone = await startVerificationServer({
    ingress: createIngress({ signingSecret: signing, queue }),
    port: 0,
  });
  inFront = await startWebServer({ handle: async ({ request }) => answer(request) });
});
afterEach(() => {
  for (const each of Object.values(secrets)) expect(machine.printed()).not.toContain(each);
  expect(queue.send).not.toHaveBeenCalled();
});
afterAll(async () => {
  await zone.close();
  await inFront.close();
  machine.close();
});

const entryAt = (url: string): Entry => ({
  url: `${url}/slack/events`,
  name: "The entry",
  start: "Start it.",
  setSecret: "Give it the secret.",
  readLog: "Look at its log.",
  mayLackSecret: false,
});

/** Runs both checks at an address. `known` is the secret that the doctor has. */
async function looked(
  url: string,
  { known = secret, now = Date.now }: { known?: string; now?: () => number } = {},
) {
  const { entry, signingSecret } = entryChecks({
    reference: { env: "SLACK_SIGNING_SECRET" },
    readSecret: async () => known,
    open: async () => entryAt(url),
    now,
  });
  const found = await Promise.all([entry.run(signal), signingSecret.run(signal)]);
  expect(JSON.stringify(found)).not.toContain(known);
  return found.map(
    (one) => `${one.status}: ${one.what}${"remedy" in one ? ` → ${one.remedy}` : ""}`,
  );
}

describe("the doctor at an entry", () => {
  it("passes an entry that accepts signed requests and refuses unsigned and old ones", async () => {
    expect(await looked(zone.url)).toEqual([
      "ok: The entry refuses an unsigned request.",
      "ok: The entry accepts a request that is signed with SLACK_SIGNING_SECRET, unless it is old.",
    ]);
  });

  it("explains an entry with another secret, and a wrong clock", async () => {
    const [, another] = await looked(zone.url, { known: "0".repeat(32) });
    expect(another).toMatch(
      /^failed: The entry does not accept a request that is signed .* → Give it the secret\..*clock\.$/,
    );
    const [, early] = await looked(zone.url, { now: () => Date.now() - 400_000 });
    expect(early).toMatch(/^failed: The entry does not accept a request that is signed/);
  });

  it("explains an entry that accepts a request signed ten minutes ago", async () => {
    answer = async (request) => {
      const { challenge } = (await request.json()) as { challenge: string };
      return new Response(request.headers.has("x-slack-signature") ? challenge : null, {
        status: request.headers.has("x-slack-signature") ? 200 : 401,
      });
    };
    const [, careless] = await looked(inFront.url);
    expect(careless).toMatch(
      /^failed: The entry accepts a request that was signed ten minutes ago \(HTTP 200\)\. → Look at its log/,
    );
  });

  it.each([
    [
      "takes everything",
      () => new Response("yes"),
      /accepts an unsigned request.* → Take it off/,
      /does not understand Slack's events/,
    ],
    [
      "has no secret",
      () => new Response(null, { status: 500 }),
      /no signing secret.* → Give it/,
      /no signing secret.* → Give it/,
    ],
    [
      "is not there",
      () => new Response(null, { status: 404 }),
      /answers HTTP 404, and not 401.* → Look/,
      /answers HTTP 404 to a signed event/,
    ],
    [
      "leads elsewhere",
      () => new Response(null, { status: 302, headers: { location: "/" } }),
      /HTTP 302/,
      /HTTP 302/,
    ],
  ])("explains a server that %s", async (_name, answered, unsigned, signed) => {
    answer = answered;
    const found = await looked(inFront.url);
    expect(found[0]).toMatch(unsigned);
    expect(found[1]).toMatch(signed);
    for (const one of found) expect(one).toMatch(/^failed: .* → /);
  });

  it("explains that nothing answers", async () => {
    const found = await looked(`http://127.0.0.1:${await freePort()}`);
    for (const one of found)
      expect(one).toMatch(/^failed: Nothing answers at http.* → Start it\.$/);
  });
});

describe("sekisho doctor where a zone runs", () => {
  const env = () => ({
    SEKISHO_PORT: String(zone.port),
    SEKISHO_EXECUTION_PORT: "0",
    SLACK_SIGNING_SECRET: secret,
  });
  // Slack itself does not matter here.
  const words = { slack: { apiUrl: "http://127.0.0.1:1/api/" }, destinations: {}, routes: [] };

  it("checks that zone", async () => {
    machine.write(words);
    const found = await machine.doctor({ ...env(), SLACK_BOT_TOKEN });
    expect(told(found, `port ${zone.port}`)).toBe("ok: The Verification zone is running here.");
    expect(told(found, "entry")).toBe("ok: The zone that runs here refuses an unsigned request.");
    expect(told(found, "signing secret")).toMatch(
      /^ok: The zone that runs here accepts a request that is signed/,
    );
  });

  it("explains a zone that was started with other secrets, such as the fake Slack's", async () => {
    machine.write(words);
    const found = await machine.doctor({ ...env(), SLACK_SIGNING_SECRET: "0".repeat(32) });
    expect(told(found, "signing secret")).toMatch(
      /^failed: The zone that runs here does not accept .* → Start it again/,
    );
  });

  it("expects its Execution zone to answer, but not on a machine where nothing runs", async () => {
    const local = { ...words, destinations: { local: { transport: "https" } } };
    machine.write(local);
    const executionPort = String(await freePort());
    const running = await machine.doctor({ ...env(), SEKISHO_EXECUTION_PORT: executionPort });
    expect(told(running, "local")).toMatch(
      /^failed: .*Nothing is listening.* → .*npx --no-install sekisho execution or npx/,
    );
    const stopped = await machine.doctor({
      SEKISHO_PORT: "0",
      SEKISHO_EXECUTION_PORT: executionPort,
    });
    expect(told(stopped, "local")).toMatch(/^skipped/);
  });

  it("sees without its secret that it refuses unsigned requests, or accepts nothing over HTTP", async () => {
    machine.write(words);
    const bare = { SEKISHO_PORT: String(zone.port), SEKISHO_EXECUTION_PORT: "0" };
    expect(told(await machine.doctor(bare), "entry")).toBe(
      "ok: The zone that runs here refuses an unsigned request.",
    );
    const none = createCachedSecret({ readSecret: async () => "" });
    const overSocket = await startVerificationServer({
      ingress: createIngress({ signingSecret: none, queue }),
      port: 0,
    });
    const found = await machine.doctor({ ...bare, SEKISHO_PORT: String(overSocket.port) });
    await overSocket.close();
    expect(told(found, "entry")).toMatch(/^ok: .*accepts nothing over HTTP/);
  });

  it("needs no signing secret over Socket Mode", async () => {
    machine.write(words);
    const { SLACK_APP_TOKEN } = secrets;
    const found = await machine.doctor({
      SEKISHO_PORT: "0",
      SEKISHO_EXECUTION_PORT: "0",
      SLACK_APP_TOKEN,
      SLACK_BOT_TOKEN,
    });
    expect(told(found, "entry")).toMatch(/^skipped: .*over Socket Mode/);
    expect(told(found, "secrets")).toMatch(/^ok/);
  });
});
