/** What a push brings to a stage whose deployed destinations are not all those of the file. */
import { describe, expect, it } from "@jest/globals";
import { createFingerprints } from "../../../lambdas/shared/config/live-settings.ts";
import { parseConfig } from "../../../lambdas/shared/config/load.ts";
import { planPush } from "../../../lib/cli/aws/push-live-settings.ts";

const bearer = (name: string) => ({ type: "bearer", token: { env: name } });
const at = (host: string) => ({ transport: "https", url: `https://${host}.example/`, authorizer: bearer("TOKEN") });
const near = at("near");
const far = at("far");

function configOf(destinations: Record<string, object>, routes: object[] = [{ destination: "near" }]) {
  return parseConfig({ json: { destinations, routes } });
}
const deployed = createFingerprints(configOf({ near, far }));
/** Needs a deploy, since it is called with another token. */
const changed = { ...far, authorizer: bearer("OTHER_TOKEN") };

const plan = (
  destinations: Record<string, object>,
  { routes, before = {} }: { routes?: object[]; before?: unknown } = {},
) => planPush({ config: configOf(destinations, routes), deployed, before });

describe("a push", () => {
  it("brings everything where everything is deployed", () => {
    const { settings, refused, leftOut } = plan({ near, far });
    expect({ refused, leftOut }).toEqual({ refused: [], leftOut: [] });
    expect(settings).toMatchObject({ routes: [{ destination: ["near"] }], destinations: { near: {}, far: {} } });
  });

  it.each([
    ["first", [{ channel: "C1", destination: "far" }, { destination: "near" }]],
    ["for what does not arrive at another", [{ destination: ["near", "far"] }]],
  ])("is refused where a route names what needs a deploy, %s", (_what, routes) => {
    expect(plan({ near, far: changed }, { routes }).refused).toEqual([{ name: "far", why: "a route leads there" }]);
  });

  it("leaves out what was never deployed, where no route names it", () => {
    const { settings, refused, leftOut } = plan({ near, further: at("further") }, { before: { destinations: "?" } });
    expect({ refused, leftOut }).toEqual({ refused: [], leftOut: ["further"] });
    expect(Object.keys(settings.destinations ?? {})).toEqual(["near"]);
  });

  it("leaves as it was pushed what is deployed otherwise, where no route names it", () => {
    const pushed = { url: "https://moved.example/", deadlineMs: 60_000 };
    const { settings, refused, leftOut } = plan(
      { near, far: { ...changed, ...pushed } },
      { before: { destinations: { far: pushed, gone: { deadlineMs: 1000 } } } },
    );
    expect({ refused, leftOut }).toEqual({ refused: [], leftOut: ["far"] });
    expect(settings.destinations).toMatchObject({ near: {}, far: pushed });
    expect(settings.destinations).not.toHaveProperty("gone");
  });

  it("keeps what was pushed for what is deployed and no longer in the file: its tasks are asked for there", () => {
    const pushed = { url: "https://moved.example/" };
    expect(plan({ near }, { before: { destinations: { far: pushed } } }).settings.destinations?.far).toEqual(pushed);
  });

  it("is refused where a field of such a one is another than was pushed, which would go unnoticed", () => {
    const before = { destinations: { far: { url: far.url, deadlineMs: 60_000 } } };
    const { refused } = plan({ near, far: { ...changed, deadlineMs: 90_000 } }, { before });
    expect(refused).toEqual([{ name: "far", why: "another deadlineMs" }]);
  });
});
