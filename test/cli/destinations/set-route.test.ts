import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { configSchema } from "../../../lambdas/shared/config/cross-checks.ts";
import type { Route } from "../../../lambdas/shared/config/schema.ts";
import { findRoute } from "../../../lambdas/verification/gate/rules.ts";
import type { RouteKey } from "../../../lib/cli/destinations/route-key.ts";
import { setRoute } from "../../../lib/cli/destinations/set-route.ts";

const destinations = Object.fromEntries(["a", "b", "c", "d", "local"].map((name) => [name, { transport: "https" }]));

function set(text: string, key: RouteKey, ...destination: string[]): string {
  const { routes } = configSchema.parse({ destinations, ...JSON.parse(text) });
  return setRoute({ text, routes, key, destination }).text;
}

const lines = `{
  "routes": [
    { "channel": "C1", "destination": "a" },
    { "word":"x",  "destination": ["a",
      "b"] },
    { "destination": "b" }
  ],
  "limits": {"concurrency":8}
}
`;

describe("setting a route in the text of the configuration", () => {
  it("replaces the destination alone, and leaves every other character as it is", () => {
    expect(set(lines, { channel: "C1" }, "c")).toBe(
      lines.replace('"C1", "destination": "a"', '"C1", "destination": "c"'),
    );
    expect(set(lines, {}, "c", "d")).toBe(lines.replace('{ "destination": "b" }', '{ "destination": ["c", "d"] }'));
    expect(set(lines, { word: "X" }, "c")).toBe(lines.replace('["a",\n      "b"]', '"c"'));
  });

  it("puts a new route before the first that would take its messages, on a line of its own where the others are", () => {
    const put = (neighbour: string, route: string) => lines.replace(neighbour, `${route},\n    ${neighbour}`);
    expect(set(lines, { team: "T1" }, "c")).toBe(put('{ "destination": "b" }', '{ "team": "T1", "destination": "c" }'));
    expect(set(lines, { channel: "C1", word: "deploy" }, "c")).toBe(
      put('{ "channel": "C1"', '{ "channel": "C1", "word": "deploy", "destination": "c" }'),
    );
  });

  it("keeps routes of one line in one line, and appends where no route takes every message", () => {
    const text = '{"routes": [{"channel":"C1","destination":"a"}]}';
    expect(set(text, { channel: "C2" }, "b")).toBe(
      '{"routes": [{"channel":"C1","destination":"a"}, { "channel": "C2", "destination": "b" }]}',
    );
    expect(set('{ "routes": [] }', {}, "b")).toBe('{ "routes": [{ "destination": "b" }] }');
  });

  it("writes the routes out where the file had the default ones, in the file's own indentation", () => {
    const text = '{\n\t"allowlist": []\n}\n';
    const changed = set(text, { channel: "C1" }, "a", "b");
    expect(changed).toContain('\n\t"routes": [');
    expect(JSON.parse(changed)).toEqual({
      allowlist: [],
      routes: [{ channel: "C1", destination: ["a", "b"] }, { destination: "local" }],
    });
    expect(JSON.parse(set(text, {}, "c")).routes).toEqual([{ destination: "c" }]);
  });

  it("leaves line ends as they are", () => {
    const windows = lines.replaceAll("\n", "\r\n");
    expect(set(windows, { team: "T1" }, "c").replaceAll("\r\n", "")).not.toContain("\n");
  });

  it("decides over every message that fits and no earlier route has, and over no other", () => {
    const key = fc.record(
      { team: fc.constantFrom("T1", "T2"), channel: fc.constantFrom("C1", "C2"), word: fc.constantFrom("x", "y") },
      { requiredKeys: [] },
    );
    const narrow = key.filter((each) => Object.keys(each).length > 0);
    const names = fc.uniqueArray(fc.constantFrom("a", "b", "c"), { minLength: 1 });
    const narrowRoutes = fc.array(fc.record({ key: narrow, destination: names }), { maxLength: 4 });
    const message = fc.record({
      team: fc.constantFrom("T1", "T2"),
      channel: fc.constantFrom("C1", "C2"),
      text: fc.constantFrom("x: go", "Y: go", "go"),
    });
    const last = fc.constantFrom<Route[]>([], [{ destination: ["b"] }]);
    fc.assert(
      fc.property(narrowRoutes, last, key, message, (listed, rest, wanted, asked) => {
        const before: Route[] = [...listed.map(({ key: of, destination }) => ({ ...of, destination })), ...rest];
        const text = JSON.stringify({ routes: before }, undefined, 2);
        const after = JSON.parse(set(text, wanted, "d")).routes.map(listOf);
        const place = after.findIndex(({ destination }: Route) => String(destination) === "d");
        expect(place).toBeGreaterThanOrEqual(0);
        const fits = findRoute({ routes: [{ ...wanted, destination: ["fits"] }], message: asked }).length > 0;
        const isTaken = findRoute({ routes: after.slice(0, place), message: asked }).length > 0;
        const was = findRoute({ routes: before, message: asked });
        expect(findRoute({ routes: after, message: asked })).toEqual(fits && !isTaken ? ["d"] : was);
      }),
    );
  });
});

function listOf(route: { destination: string | string[] }): Route {
  return { ...route, destination: [route.destination].flat() };
}
