/** What a push leaves as it is in the stage. */
import { expect, it } from "@jest/globals";
import { planPush } from "../../../bin/aws/plan-push.ts";
import { fingerprintsOf, liveSettingsOf } from "../../../lambdas/shared/config/live-settings.ts";
import { parseConfig } from "../../../lambdas/shared/config/load.ts";

const bearer = { type: "bearer", token: { secretsManager: "sekisho/prod/TOKEN" } };
const at = (url: string) => ({ transport: "https", url, authorizer: bearer });

it("keeps what was pushed for a destination that is deployed and no longer in the file: its tasks are asked for there", () => {
  const both = parseConfig({
    json: {
      destinations: { near: at("https://near.example/"), far: at("https://moved.example/") },
      routes: [{ destination: "near" }],
    },
  });
  const config = parseConfig({
    json: { destinations: { near: at("https://near.example/") }, routes: [{ destination: "near" }] },
  });
  const before = JSON.parse(JSON.stringify(liveSettingsOf(both)));
  const { settings, refused } = planPush({ config, deployed: fingerprintsOf(both), before });
  expect(settings.destinations?.far).toMatchObject({ url: "https://moved.example/" });
  expect(refused).toEqual([]);
  const gone = planPush({ config, deployed: fingerprintsOf(config), before });
  expect(Object.keys(gone.settings.destinations ?? {})).toEqual(["near"]);
});
