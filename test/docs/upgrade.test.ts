/** What an upgrade switches on by itself, as docs/upgrade.md tells it, and whether what it says to write leaves that off. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import { parseConfig } from "../../lambdas/shared/config/load.ts";
import { root } from "./commands/documented.ts";

const page = readFileSync(join(root, "docs/upgrade.md"), "utf8");
const [, table = ""] = /switches on by itself[^|]*((?:\|.*\n)+)/.exec(page) ?? [];
const before = { destinations: { local: { transport: "https" } }, routes: [{ destination: "local" }] };
const nowOf = (more: object) => parseConfig({ json: { ...before, ...more } });

it("the upgrade notes name what is kept and measured without being asked for", () => {
  const { usageHistory, telemetry, operators } = nowOf({});
  expect(table).toContain(`for ${usageHistory.retentionDays} days, without texts`);
  expect({ texts: usageHistory.texts, metrics: telemetry.metrics }).toEqual({ texts: false, metrics: true });
  expect({ spans: telemetry.traces.exporter.type, page: operators.authenticator.type }).toEqual({
    spans: "none",
    page: "none",
  });
});

it("what they say to write switches it off", () => {
  const written = [...table.matchAll(/`("\w+": \{.*?\})`/g)].map(([, json]) => JSON.parse(`{${json}}`));
  const { usageHistory, telemetry } = nowOf(Object.assign({}, ...written));
  expect({ days: usageHistory.retentionDays, metrics: telemetry.metrics }).toEqual({ days: 0, metrics: false });
});
