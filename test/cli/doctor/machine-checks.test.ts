/** Checks that a test machine cannot make fail: the clock, Node, the disk, ports. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { parseConfig } from "../../../lambdas/shared/config/load.ts";
import type { Check } from "../../../lib/cli/doctor/check.ts";
import { type ClockSource, clockCheck, destinationClocks } from "../../../lib/cli/doctor/clock.ts";
import { measureSkew, readSkewMs } from "../../../lib/cli/doctor/http.ts";
import { diskCheck, nodeCheck, portCheck } from "../../../lib/cli/doctor/machine-checks.ts";
import { startWebServer } from "../../doubles/web-server.ts";

const { signal } = new AbortController();
const folder = mkdtempSync(join(tmpdir(), "sekisho-checks-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function say(check: Check): Promise<string> {
  const found = await check.run(signal);
  return `${found.status}: ${found.what}${"remedy" in found ? ` → ${found.remedy}` : ""}`;
}

describe("the clock", () => {
  const from = (who: string, skewMs: number | undefined): ClockSource => ({ who, skewMs: async () => skewMs });
  const slack = (skewMs: number) => from("Slack", skewMs);
  const far = (skewMs: number) => from("destination far", skewMs);

  it.each([
    [[slack(60_000)], [], /^ok: 60 s from Slack/],
    [[slack(-60_001)], [], /^warning: It is 60 s behind Slack.* → Set this machine's clock/],
    [[slack(300_000)], [], /^failed: It is 300 s ahead of Slack.* → Set this machine's clock/],
    [[slack(1000)], [far(400_000)], /^failed: .* destination far.* → Set the clock of destination far/],
    [[slack(400_000)], [far(400_100)], /^failed: .* → Set this machine's clock/],
    [[], [far(-90_000)], /^warning: .* → Set this machine's clock/],
    [[], [], /^skipped/],
  ])("%#", async (trusted, others, words) => {
    expect(await say(clockCheck({ trusted, others }))).toMatch(words);
  });

  it("ignores sources that do not answer", async () => {
    const broken: ClockSource = { who: "Slack", skewMs: () => Promise.reject(new Error("no")) };
    expect(await say(clockCheck({ trusted: [broken, from("the entry", undefined)], others: [far(0)] }))).toMatch(/^ok/);
  });

  it("is read from a date to the second, however long the request takes", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -1e6, max: 1e6 }),
        fc.nat({ max: 5000 }),
        fc.nat({ max: 5000 }),
        (ahead, out, back) => {
          const sentAtMs = 1_800_000_000_123;
          const date = new Date(sentAtMs + out - ahead).toUTCString();
          const skewMs = readSkewMs(date, { sentAtMs, receivedAtMs: sentAtMs + out + back }) ?? Number.NaN;
          expect(Math.abs(skewMs - ahead)).toBeLessThanOrEqual(501 + Math.abs(out - back) / 2);
        },
      ),
    );
    expect(readSkewMs("yesterday", { sentAtMs: 0, receivedAtMs: 0 })).toBeUndefined();
    expect(readSkewMs(null, { sentAtMs: 0, receivedAtMs: 0 })).toBeUndefined();
  });

  it("is read from a destination even where it refuses us, but not from one on this machine", async () => {
    const date = new Date(Date.now() + 200_000).toUTCString();
    const peer = await startWebServer({ handle: async () => new Response(null, { status: 401, headers: { date } }) });
    const skewMs = await measureSkew({ url: peer.url, signal });
    await peer.close();
    expect(Math.round((skewMs ?? 0) / 10_000)).toBe(-20);
    expect(await measureSkew({ url: peer.url, signal })).toBeUndefined();
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

describe("Node", () => {
  it.each([
    ["20.19.0", /^failed: .*22\.18 is needed\. → Install Node 24/],
    ["22.17.9", /^failed/],
    ["22.18.0", /^ok: 22\.18\.0$/],
    ["23.11.0", /^warning: .* → Install Node 24/],
    ["24.21.0", /^ok/],
  ])("%s", async (version, words) => {
    expect(await say(nodeCheck({ version }))).toMatch(words);
  });
});

describe("the disk", () => {
  const mebibytes = (count: number) => async () => count * 1024 * 1024;

  it.each([
    [63, /^failed: .*63 MiB are free\. → Free some disk/],
    [64, /^warning/],
    [1024, /^ok/],
  ])("%d MiB", async (count, words) => {
    expect(await say(diskCheck({ folder, readFreeBytes: mebibytes(count) }))).toMatch(words);
    expect(readdirSync(folder)).toEqual([]);
  });

  it("reports a folder that cannot be written", async () => {
    const nowhere = join(folder, "nothing");
    expect(await say(diskCheck({ folder: nowhere }))).toMatch(
      /^failed: .* cannot be written \(ENOENT\)\. → Give write access/,
    );
  });
});

describe("a port", () => {
  it("may be forbidden", async () => {
    const check = portCheck({
      zone: "Execution",
      port: 80,
      variable: "SEKISHO_EXECUTION_PORT",
      use: async () => "forbidden",
    });
    expect(await say(check)).toMatch(/^failed: .* → .*SEKISHO_EXECUTION_PORT/);
  });
});
