import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { findRoute } from "../../../lambdas/verification/gate/rules.ts";
import { listPossibleRoutes } from "../../../lib/cli/destinations/possible-routes.ts";

const routes = [
  { channel: "C1", word: "deploy", destination: ["a", "b"] },
  { team: "T1", destination: ["c"] },
  { channel: "C1", destination: ["b"] },
  { destination: ["d"] },
];

describe("the routes that a message could take", () => {
  it("are those that nothing known rules out, up to the first that is certain", () => {
    expect(listPossibleRoutes({ routes, known: { channel: "C1" } })).toEqual([
      { place: 1, destination: ["a", "b"], certain: false },
      { place: 2, destination: ["c"], certain: false },
      { place: 3, destination: ["b"], certain: true },
    ]);
    expect(listPossibleRoutes({ routes, known: { channel: "C2", team: "T2" } })).toEqual([
      { place: 4, destination: ["d"], certain: true },
    ]);
    expect(listPossibleRoutes({ routes: routes.slice(0, 2), known: { channel: "C2" } })).toEqual([
      { place: 2, destination: ["c"], certain: false },
    ]);
  });

  it("have the one among them that the message takes, whatever of it is known", () => {
    const message = fc.record({
      team: fc.constantFrom("T1", "T2"),
      channel: fc.constantFrom("C1", "C2"),
      text: fc.constantFrom("Deploy: it", "it"),
    });
    const known = fc.subarray(["team", "channel", "text"] as const);
    fc.assert(
      fc.property(message, known, (asked, names) => {
        const part = Object.fromEntries(names.map((name) => [name, asked[name]]));
        const possible = listPossibleRoutes({ routes, known: part });
        expect(possible.map(({ destination }) => destination)).toContainEqual(findRoute({ routes, message: asked }));
        if (names.length === 3) expect(possible).toHaveLength(1);
      }),
    );
  });
});
