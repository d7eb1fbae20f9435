/** The App Home, from Slack's event to what people see. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { listButtons } from "@sekisho/local/fake-slack/blocks.ts";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { whyNoDynamoDb } from "../doubles/aws/emulators.ts";
import { type AwsEngines, startAwsEngines } from "./aws-engines.ts";
import { type E2eWorld, startWorld, until } from "./world.ts";

const describeOnAws = whyNoDynamoDb === undefined ? describe : describe.skip;
let world: E2eWorld | undefined;

afterEach(async () => {
  await world?.close();
  world = undefined;
});

const user = workspace.person;

function homeText({ fakeSlack }: E2eWorld, of = user): string {
  return JSON.stringify(fakeSlack.home(of) ?? "");
}

function stories(openEngine?: () => ReturnType<AwsEngines["open"]>): void {
  const start = async (options: { allowed?: boolean } = {}) => {
    world = await startWorld({ transport: "https", openEngine: await openEngine?.(), ...options });
    return world;
  };

  it("the App Home shows running tasks, and its button cancels one", async () => {
    const world = await start();
    const { fakeSlack, eventsUrl } = world;
    const [first, second] = [world.ask("slow 30s the first"), world.ask("slow 30s the second")];
    const { observations } = world;
    const isWaiting = (id: string) =>
      observations.some(({ task }) => task.id === id && task.state === "waiting");
    await until(() => [first, second].every(({ requestId }) => isWaiting(requestId)));
    await fakeSlack.openHome({ eventsUrl, tab: "home" }).delivered;
    await until(() => listButtons(fakeSlack.home(user) ?? []).length === 2, {
      seen: () => homeText(world),
    });
    expect(homeText(world)).toContain("the first");
    // The newest task is on top.
    await fakeSlack.clickHomeButton({ eventsUrl, label: "Cancel", index: 1 }).delivered;
    expect((await world.over(first.requestId)).outcome).toMatchObject({
      type: "failed",
      reason: "canceled",
    });
    await until(() => listButtons(fakeSlack.home(user) ?? []).length === 1, {
      seen: () => homeText(world),
    });
    await fakeSlack.openHome({ eventsUrl, tab: "home" }).delivered;
    await until(
      () => homeText(world).includes("the second") && !homeText(world).includes("the first"),
    );
    await fakeSlack.clickHomeButton({ eventsUrl, label: "Cancel" }).delivered;
    expect((await world.over(second.requestId)).outcome).toMatchObject({
      type: "failed",
      reason: "canceled",
    });
  });
}

describe("on one machine", () => {
  stories();

  it("the App Home tells a person without access whom to ask, and shows no rule", async () => {
    world = await startWorld({ transport: "https", allowed: false });
    const { fakeSlack, eventsUrl } = world;
    const at = world;
    await fakeSlack.openHome({ eventsUrl, tab: "home" }).delivered;
    await until(() => homeText(at).includes("You don't have access to me yet."), {
      seen: () => homeText(at),
    });
    expect(homeText(at)).not.toContain("Everyone in this workspace");
  });
});

describeOnAws("on the aws engine", () => {
  let engines: AwsEngines;
  beforeAll(async () => {
    engines = await startAwsEngines();
  });
  afterAll(() => engines.close());

  stories(() => engines.open());
});
