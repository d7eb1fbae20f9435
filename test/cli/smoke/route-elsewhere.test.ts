/** A smoke test checks the route that its tasks will take, with their workspace. */
import { describe, expect, it } from "@jest/globals";
import { parseConfig } from "../../../lambdas/shared/config/load.ts";
import { routeElsewhere } from "../../../lib/cli/smoke/route-elsewhere.ts";
import { defaultSettings } from "../../../lib/cli/smoke/run-smoke.ts";
import { storyTexts } from "../../../lib/cli/smoke/run-story.ts";
import { twoAccounts } from "../aws/a-stage.ts";

const texts = storyTexts(defaultSettings);

function judged({ team, routes }: { team: string; routes: object[] }) {
  const config = parseConfig({ json: { ...twoAccounts, routes } });
  return routeElsewhere({ config, routes: config.routes, team, channel: "C9", texts });
}

describe("the route of a smoke test", () => {
  const farForOne = [{ team: "T1", destination: "far" }, { destination: "local" }];
  const localForOne = [{ team: "T1", destination: "local" }, { destination: "far" }];

  it.each([
    ["is refused where the workspace has a route elsewhere", "T1", farForOne, "to far, which is not"],
    ["is well where another workspace has that route", "T2", farForOne, undefined],
    ["is well where only this workspace has a route to the stage's own zone", "T1", localForOne, undefined],
    ["is refused where only another workspace has one", "T2", localForOne, "to far, which is not"],
    ["is refused where no route fits", "T2", [{ team: "T1", destination: "local" }], "leads nowhere"],
    [
      "is well where only a word leads elsewhere",
      "T1",
      [{ word: "far", destination: "far" }, { destination: "local" }],
      undefined,
    ],
  ])("%s", (_title, team, routes, said) => {
    const found = judged({ team, routes });
    if (said === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(said);
  });
});
