/** Agents of real frameworks, each behind one line of configuration, answer in the local Slack. Their models follow a script. */
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type AgentCoreStub, startAgentCoreStub } from "../../doubles/agentcore-stub.ts";
import { until, withButton } from "../../e2e/world.ts";
import { type StartedZones, startZones } from "../../world/started-zones.ts";
import { doors, runtimeArn } from "./doors.ts";
import { type Framework, startFramework } from "./framework.ts";

const frameworks = new Map<string, Framework>();

afterAll(async () => {
  for (const framework of frameworks.values()) await framework.close();
});

/** Starts each framework once. */
async function openFramework(name: string): Promise<Framework> {
  const framework = frameworks.get(name) ?? (await startFramework(name));
  frameworks.set(name, framework);
  return framework;
}

const credentials = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "an-aws-secret-of-this-test" };

/** Calls the container as the data plane of AgentCore does. */
async function startRuntime(containerUrl: string): Promise<AgentCoreStub> {
  const stub = await startAgentCoreStub({
    ...{ runtimeArn, credentials },
    handle: async ({ headers, body, signal }) =>
      fetch(containerUrl, {
        ...{ method: "POST", headers, body, signal },
        duplex: "half",
      } as RequestInit),
  });
  Object.assign(process.env, {
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    AWS_ENDPOINT_URL_BEDROCK_AGENTCORE: stub.endpoint,
  });
  return stub;
}

describe.each(doors)("an agent behind $name", (door) => {
  const { child, agent, container, question, isStream, runsOn } = door;
  let framework: Framework;
  let runtime: AgentCoreStub | undefined;
  let zones: StartedZones;
  beforeAll(async () => {
    framework = await openFramework(child);
    const containerUrl = container?.(framework.urls);
    if (containerUrl !== undefined) runtime = await startRuntime(containerUrl);
    zones = await startZones({
      config: { execution: { agent: agent(framework.urls), syncBudgetMs: 300 } },
    });
  });
  afterAll(async () => {
    await zones?.close();
    await runtime?.close();
  });

  type Post = ReturnType<StartedZones["ask"]>;

  const readTexts = ({ message }: Post) => zones.answersTo(message).map(({ text }) => text);

  function reply({ message }: Post, text: string): Post {
    return zones.fakeSlack.reply({ eventsUrl: zones.eventsUrl, text, threadTs: message.ts });
  }

  async function click(post: Post, label: string): Promise<void> {
    const { channel, ts } = await withButton(zones, post, label);
    zones.fakeSlack.clickButton({ eventsUrl: zones.eventsUrl, channel, ts, label });
  }

  it("answers once, after a call of a tool", async () => {
    const post = zones.ask("tool");
    await zones.over(post.requestId);
    expect(readTexts(post)).toEqual(["It is 31 degrees."]);
  });

  it("gives each message of the thread to the model once", async () => {
    const post = zones.ask("hello");
    await zones.over(post.requestId);
    await zones.over(reply(post, "list").requestId);
    expect(readTexts(post)).toEqual(["Hello, Slack.", "list", "You wrote: hello, list"]);
  });

  it("fails once, without a word of the error", async () => {
    const post = zones.ask("failure");
    const { outcome } = await zones.over(post.requestId);
    expect(outcome).toMatchObject({ type: "failed", reason: "execution_failed" });
    expect(readTexts(post)).toHaveLength(1);
    expect([...readTexts(post), ...zones.lines].join("\n")).not.toContain("the model is away");
  });

  if (isStream)
    it("shows the beginning of an answer before its end", async () => {
      const post = zones.ask("stream");
      await until(() => readTexts(post).some((text) => text.includes("The beginning")));
      framework.release();
      await zones.over(post.requestId);
      expect(readTexts(post)).toEqual(["The beginning and the end."]);
    });

  if (question !== undefined)
    it.each([
      [question.labels[0], "The file is gone."],
      [question.labels[1], question.denied],
    ])("asks, and goes on after the button %s", async (label, answer) => {
      const post = zones.ask("question");
      await click(post, label);
      const { outcome } = await zones.over(post.requestId);
      expect(outcome).toMatchObject({ type: "answer", text: expect.stringContaining(answer) });
      const count = (words: string) =>
        readTexts(post).filter((text) => text.includes(words)).length;
      expect([count(question.prompt), count(answer)]).toEqual([1, 1]);
    });

  it(`ends for the person when it is canceled${runsOn === undefined ? ", and stops" : ""}`, async () => {
    const abortions = framework.countAborted();
    const post = zones.ask("work on");
    // @ag-ui/langgraph loses a cancellation that comes before the first event of the server.
    if (isStream) await until(() => readTexts(post).some((text) => text.includes("I begin.")));
    await click(post, "Cancel");
    const { outcome } = await zones.over(post.requestId);
    expect(outcome).toMatchObject({ type: "failed", reason: "canceled" });
    expect(readTexts(post)).toHaveLength(1);
    if (runsOn === undefined) await until(() => framework.countAborted() > abortions);
    else expect(framework.countAborted()).toBe(abortions);
  });

  it("reaches nothing outside this machine", () => {
    expect([framework.traffic, runtime?.problems ?? []]).toEqual([[], []]);
  });
});
