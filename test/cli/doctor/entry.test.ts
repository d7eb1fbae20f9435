/** The doctor's checks over HTTP: the entry for Slack's events, whatever answers there, and the clocks of servers. */
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import { freePort } from "@sekisho/local/free-port.ts";
import { createCachedSecret } from "@sekisho/runtime/async/cached-secret.ts";
import {
  checkClock,
  checkEntry,
  checkSigningSecret,
  destinationClocks,
  measureSkew,
  readSkewMs,
} from "@sekisho/sekisho/doctor/entry.ts";
import { createIngress } from "@sekisho/verification/ingress/ingress.ts";
import {
  startVerificationServer,
  type VerificationServer,
} from "@sekisho/verification/ingress/server.ts";
import fc from "fast-check";
import { startWebServer, type WebServer } from "../../doubles/web-server.ts";
import { formatFinding, openMachine, secrets, shownText } from "./a-machine.ts";

const { SLACK_SIGNING_SECRET: secret, SLACK_BOT_TOKEN, SLACK_APP_TOKEN } = secrets;
const { signal } = new AbortController();
const machine = openMachine();
const queue = { send: jest.fn(async () => {}) };
let zone: VerificationServer;
let inFront: WebServer;
/** The answer of a server that is not an entry. */
let answer: (request: Request) => Response | Promise<Response>;

const startZone = (signingSecret: string) =>
  startVerificationServer({
    ingress: createIngress({
      signingSecret: createCachedSecret({ readSecret: async () => signingSecret }),
      queue,
    }),
    port: 0,
  });

beforeAll(async () => {
  zone = await startZone(secret);
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

/** Runs both checks at an address. `known` is the secret that the doctor has. */
async function checkAt(url: string, { known = secret, now = Date.now } = {}) {
  const entry = async () => ({
    url: `${url}/slack/events`,
    name: "The entry",
    start: "Start it.",
    setSecret: "Give it the secret.",
    readLog: "Look at its log.",
    mayLackSecret: false,
  });
  const config = parseConfig({ json: {} });
  const target = { config, readSecret: async () => known, entry, now, signal };
  const report = await Promise.all([checkEntry(target), checkSigningSecret(target)]);
  expect(JSON.stringify(report)).not.toContain(known);
  return report.map(formatFinding);
}

describe("sekisho doctor and the ingress", () => {
  it("passes an entry that accepts signed requests and refuses unsigned and old ones", async () => {
    expect(await checkAt(zone.url)).toEqual([
      "ok: The entry refuses an unsigned request.",
      "ok: The entry accepts a request that is signed with SLACK_SIGNING_SECRET, unless it is old.",
    ]);
  });

  it("explains an entry with another secret, and a wrong clock", async () => {
    const [, another] = await checkAt(zone.url, { known: "0".repeat(32) });
    expect(another).toMatch(/^failed: .* does not accept a request.* → Give it the .*clock\.$/);
    const [, early] = await checkAt(zone.url, { now: () => Date.now() - 400_000 });
    expect(early).toMatch(/^failed: The entry does not accept a request that is signed/);
  });

  const careless = async (request: Request) => {
    const { challenge } = (await request.json()) as { challenge: string };
    const isSigned = request.headers.has("x-slack-signature");
    return new Response(isSigned ? challenge : null, { status: isSigned ? 200 : 401 });
  };
  const answering = (status: number) => () =>
    new Response(null, { status, headers: { location: "/" } });

  it.each([
    ["accepts an old request", careless, /^ok/, /signed ten minutes ago \(HTTP 200\)\. → Look/],
    [
      "accepts every request",
      () => new Response("yes"),
      /an unsigned request.* → Take/,
      /does not under/,
    ],
    ["has no secret", answering(500), /^failed: .*no signing secret.* → Give it/, /HTTP 500/],
    ["is not an ingress", answering(404), /^failed: .*HTTP 404, and not 401.* → Look/, /HTTP 404/],
    ["redirects", answering(302), /^failed: .*HTTP 302/, /HTTP 302/],
  ])("explains a server that %s", async (_title, answered, unsigned, signed) => {
    answer = answered;
    const [first, second] = await checkAt(inFront.url);
    expect(first).toMatch(unsigned);
    expect(second).toMatch(signed);
    expect(second).toMatch(/^failed/);
  });

  it("explains that nothing answers", async () => {
    const [entry, signing] = await checkAt(`http://127.0.0.1:${await freePort()}`);
    expect(entry).toMatch(/^failed: Nothing answers at http.* → Start it\.$/);
    expect(signing).toMatch(/^failed: The entry answers nothing/);
  });
});

describe("sekisho doctor beside a running zone", () => {
  // Slack itself does not matter here.
  const config = { slack: { apiUrl: "http://127.0.0.1:1/api/" }, destinations: {}, routes: [] };
  const doctor = (port: number, env: Record<string, string>) =>
    machine.doctor({ SEKISHO_PORT: String(port), SEKISHO_EXECUTION_PORT: "0", ...env });

  it("checks the zone on this machine, or reports that it has other secrets", async () => {
    machine.write(config);
    const report = await doctor(zone.port, { SLACK_SIGNING_SECRET: secret, SLACK_BOT_TOKEN });
    expect(shownText(report, "Verification port")).toMatch(/^ok: The Verification zone is running/);
    expect(shownText(report, "entry")).toBe(
      "ok: The zone that runs here refuses an unsigned request.",
    );
    expect(shownText(report, "signing secret")).toMatch(
      /^ok: The zone that runs here accepts a request/,
    );
    const other = await doctor(zone.port, { SLACK_SIGNING_SECRET: "0".repeat(32) });
    expect(shownText(other, "signing secret")).toMatch(
      /^failed: .* does not accept .* → Start it again/,
    );
  });

  it("expects the Execution zone of a running zone to answer, and skips it if nothing runs", async () => {
    machine.write({ ...config, destinations: { local: { transport: "https" } } });
    const env = { SEKISHO_EXECUTION_PORT: String(await freePort()) };
    expect(shownText(await doctor(zone.port, env), "local")).toMatch(
      /^failed: .*Nothing is listening.* → .*npx --no-install sekisho execution or npx/,
    );
    expect(shownText(await doctor(0, env), "local")).toMatch(/^skipped/);
  });

  it("checks without a secret that the zone refuses unsigned requests or accepts nothing over HTTP", async () => {
    machine.write(config);
    expect(shownText(await doctor(zone.port, {}), "entry")).toMatch(/^ok: .*refuses an unsigned/);
    const overSocket = await startZone("");
    const report = await doctor(overSocket.port, {});
    await overSocket.close();
    expect(shownText(report, "entry")).toMatch(/^ok: .*accepts nothing over HTTP/);
  });

  it("needs no signing secret over Socket Mode", async () => {
    machine.write(config);
    const report = await doctor(0, { SLACK_APP_TOKEN, SLACK_BOT_TOKEN });
    expect(shownText(report, "entry")).toMatch(/^skipped: Over Socket Mode/);
    expect(shownText(report, "secrets")).toMatch(/^ok/);
  });
});

describe("the clock", () => {
  const from = (who: string, isTrusted: boolean) => (skewMs?: number) => {
    return { who, isTrusted, skewMs: async () => skewMs };
  };
  const slack = from("Slack", true);
  const far = from("destination far", false);
  const broken = { ...far(), skewMs: () => Promise.reject(new Error("no")) };
  const here = /^(warning|failed): [^→]*$/;

  it.each([
    [[slack(60_000)], /^ok: At most 60 s from Slack/],
    [[slack(-60_001)], /^warning: It is 60 s behind Slack/],
    [[slack(300_000)], /^failed: It is 300 s ahead of Slack/],
    [[slack(1000), far(400_000)], /^failed: .* → Set the clock of destination far/],
    [[slack(400_000), far(400_100)], here],
    [[far(-90_000)], here],
    [[broken, slack(undefined), far(0)], /^ok/],
    [[], /^skipped/],
  ])("compares the clock with those of servers (%#)", async (clocks, pattern) => {
    expect(formatFinding(await checkClock({ clocks }))).toMatch(pattern);
  });

  it("reads the clock from a date with a resolution of a second, however long the request takes", () => {
    const ms = fc.nat({ max: 5000 });
    fc.assert(
      fc.property(fc.integer({ min: -1e6, max: 1e6 }), ms, ms, (ahead, out, back) => {
        const sentAtMs = 1_800_000_000_123;
        const date = new Date(sentAtMs + out - ahead).toUTCString();
        const times = { sentAtMs, receivedAtMs: sentAtMs + out + back };
        const skewMs = readSkewMs(date, times) ?? Number.NaN;
        expect(Math.abs(skewMs - ahead)).toBeLessThanOrEqual(501 + Math.abs(out - back) / 2);
      }),
    );
    for (const date of ["yesterday", null])
      expect(readSkewMs(date, { sentAtMs: 0, receivedAtMs: 0 })).toBeUndefined();
  });

  it("reads the clock of a remote destination even if that refuses the request", async () => {
    const date = new Date(Date.now() + 200_000).toUTCString();
    answer = () => new Response(null, { status: 401, headers: { date } });
    const skewMs = await measureSkew({ url: inFront.url, signal });
    expect(Math.round((skewMs ?? 0) / 10_000)).toBe(-20);
    const destinations = {
      here: { transport: "https", url: "http://127.0.0.1:9/" },
      far: {
        transport: "https",
        url: "https://far.example/rpc",
        authorizer: { type: "sigv4", service: "lambda", region: "eu-west-1" },
      },
    };
    const config = parseConfig({ json: { destinations, routes: [] } });
    expect(destinationClocks(config, signal).map(({ who }) => who)).toEqual(["destination far"]);
  });
});
