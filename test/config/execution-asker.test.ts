/** `execution.asker`: what follows from the rest of the configuration, and what would refuse every task. */
import { describe, expect, it } from "@jest/globals";
import { ConfigError } from "@sekisho/config/config-error.ts";
import { resolveAskerSettings } from "@sekisho/config/execution-asker.ts";
import { parseExecutionSections } from "@sekisho/config/execution-schema.ts";
import { parseConfig } from "@sekisho/config/load.ts";

const issuer = "https://asker.example";
const local = { transport: "https", asker: true };

function parse(
  asker: unknown,
  { section = { issuer } as object | null, destination = local as object } = {},
) {
  return parseConfig({
    json: {
      ...(section && { asker: section }),
      destinations: { local: destination },
      execution: { asker },
    },
  }).execution.asker;
}

function problemsOf(...[asker, options]: Parameters<typeof parse>): readonly string[] {
  try {
    parse(asker, options);
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split("\n").slice(1);
    throw error;
  }
  return [];
}

describe("the verified asker of the Execution host", () => {
  it("comes from the zone of the same configuration, unless zones are listed", () => {
    expect(parse("required")).toEqual({
      mode: "required",
      zones: [{ issuer, algorithms: ["RS256"] }],
    });
    const zones = [{ issuer, clients: ["sekisho"] }];
    expect(
      parse({ mode: "optional", zones }, { section: null, destination: { transport: "https" } }),
    ).toEqual({
      mode: "optional",
      zones: [{ issuer, clients: ["sekisho"], algorithms: ["RS256", "ES256"] }],
    });
  });

  it("stays in the bundles, which lack the section of the zone", () => {
    const { execution } = parseExecutionSections({ execution: { asker: parse("required") } });
    expect(resolveAskerSettings(execution.asker ?? { mode: "optional" })).toEqual({
      mode: "required",
      audience: "sekisho",
      zones: [{ issuer, algorithms: ["RS256"] }],
    });
  });

  it("lets no host start that trusts no zone", () => {
    expect(() => resolveAskerSettings({ mode: "required" })).toThrow(
      'execution.asker: has no zone whose tokens count; add the section asker, or "zones"',
    );
  });

  it.each<[problem: string, ...Parameters<typeof parse>]>([
    [
      "execution.asker: has no zone whose tokens count",
      "required",
      { section: null, destination: { transport: "https" } },
    ],
    ["destinations.local.asker: is missing", "required", { destination: { transport: "https" } }],
    [
      'destinations.local.asker.audience: must be "sekisho"',
      "optional",
      { destination: { transport: "https", asker: { audience: "other" } } },
    ],
    [
      "destinations.local.asker.header: must be sekisho-asker",
      "required",
      { destination: { transport: "in-process", asker: { header: "x-asker" } } },
    ],
    [
      "execution.asker.zones: must list the issuer",
      { mode: "required", zones: [{ issuer: "https://other.example" }] },
    ],
    [
      "execution.asker.zones: must list each issuer once",
      { mode: "required", zones: [{ issuer }, { issuer }] },
    ],
    [
      "execution.asker.zones[0].issuer: must have no slash",
      { mode: "required", zones: [{ issuer: `${issuer}/` }] },
    ],
    ["execution.asker: must be", "always"],
  ])("says %s", (problem, ...given) => {
    expect(problemsOf(...given).join("\n")).toContain(problem);
  });

  it("allows a destination that is not told if the asker is optional", () => {
    expect(problemsOf("optional", { destination: { transport: "https" } })).toEqual([]);
    expect(problemsOf("required")).toEqual([]);
  });
});
