/** Approvals and questions in the structure of kagent, against an agent as strict as kagent. */
import { describe, expect, it } from "@jest/globals";
import type { ReadTask } from "@sekisho/contracts/a2a/read-task.ts";
import {
  createHitlResponse,
  hasHitl,
  readHitlQuestion,
} from "@sekisho/verification/transport/a2a/hitl.ts";
import {
  type HitlRequest,
  hitlUri,
  startKagentAgent,
  tool,
} from "../../../doubles/kagent-agent.ts";
import { closeAfterTest } from "../../../doubles/serving.ts";
import { clientTo, hello } from "./sample.ts";

const approval = (...names: string[]): HitlRequest => ({
  type: "tool_approval_request",
  tools: names.map((name) => tool(name)),
});
const ask = (...questions: Extract<HitlRequest, { questions: unknown }>["questions"]) =>
  ({ type: "ask_user_request", id: "ask-1", questions }) as const;
const nested = (name: string) => ({
  ...{ subagent_name: "k8s_agent", task_id: "child-1", context_id: "child-context" },
  tools: [tool(name, `child-${name}`)],
});
const region = { question: "Which region?", choices: ["eu", "us"], multiple: false };
const features = { question: "Which features?", choices: ["auth", "logs"], multiple: true };
const wishes = { question: "Any wishes?", choices: null };

/** The agent has asked. `answer` sends a reply to the question as it was asked. */
async function paused(
  request: HitlRequest,
  options: Omit<Parameters<typeof startKagentAgent>[0], "request"> = {},
) {
  const agent = closeAfterTest(await startKagentAgent({ request, ...options }));
  const { call } = clientTo(agent.cardUrl);
  const question = Object(await call("execute_task", hello));
  const { question_id } = question;
  return {
    agent,
    question,
    call,
    answer: (reply: object) =>
      call("answer_task", { task_id: "task-1", question_id, user_id: "U1", ...reply }),
  };
}

const accepted = { status: "accepted", task_id: "task-1" };

describe("an approval that kagent asks for", () => {
  it.each(["1.0", "0.3"] as const)(
    "offers two buttons for one tool and shows its arguments, in %s",
    async (version) => {
      const { agent, question, answer } = await paused(approval("delete_file"), { version });
      expect(question).toEqual({
        ...{ status: "input_required", task_id: "task-1", question_id: "pause-1" },
        prompt: expect.stringMatching(
          /^Human input is required.*\n\nThe tool `delete_file` waits.*"path": "\/delete_file"/s,
        ),
        options: [
          { id: expect.any(String), label: "Approve", style: "primary" },
          { id: expect.any(String), label: "Deny", style: "danger" },
        ],
      });
      expect(await answer({ option_id: question.options[0].id })).toEqual(accepted);
      expect(agent.replies).toEqual([
        {
          type: "tool_approval_response",
          approvals: [{ id: "adk-delete_file", approved: true }],
        },
      ]);
    },
  );

  it("takes the button and words as a denial, words with their reason", async () => {
    for (const [reply, decision] of [
      [{ button: 1 }, { approved: false }],
      [{ text: "deny" }, { approved: false }],
      [{ text: "Not today." }, { approved: false, rejection_reason: "Not today." }],
      [{ text: "yes" }, { approved: false, rejection_reason: "yes" }],
      [{ text: " Approve" }, { approved: true }],
    ] as const) {
      const { agent, question, answer } = await paused(approval("delete_file"));
      await answer("button" in reply ? { option_id: question.options[reply.button].id } : reply);
      expect(agent.replies).toMatchObject([{ approvals: [decision] }]);
    }
  });

  it("shows a form with one decision for each of several tools", async () => {
    const { agent, question, answer } = await paused(approval("delete_file", "restart"));
    expect(question.prompt).toContain("These tools wait for you: `delete_file`, `restart`.");
    expect(question.prompt).toMatch(/"path": "\/delete_file".*"path": "\/restart"/s);
    expect(question.fields).toMatchObject([
      { label: "delete_file", type: "choice", required: true },
      { label: "restart", type: "choice", required: true },
    ]);
    const [one, two] = question.fields;
    await answer({ fields: { [one.id]: "deny", [two.id]: "approve" } });
    expect(agent.replies).toMatchObject([
      {
        approvals: [
          { id: "adk-delete_file", approved: false },
          { id: "adk-restart", approved: true },
        ],
      },
    ]);
  });

  it("offers two buttons for more tools than a form has fields", async () => {
    const names = Array.from({ length: 21 }, (_, index) => `tool_${index}`);
    const { agent, question, answer } = await paused(approval(...names));
    expect(question).not.toHaveProperty("fields");
    expect(question.prompt).toContain("`tool_19`, and 1 more that are not shown.");
    expect(question.prompt).not.toContain("/tool_20");
    await answer({ option_id: question.options[0].id });
    expect(Object(agent.replies[0]).approvals).toHaveLength(21);
  });

  it("names the subagent and its tools, and takes decisions by their ids", async () => {
    const { agent, question, answer } = await paused({
      ...approval("k8s_agent"),
      nested: nested("delete_pod"),
    } as HitlRequest);
    expect(question.prompt).toMatch(/^The agent `k8s_agent` asks:\n.*`delete_pod`/s);
    await answer({ option_id: question.options[1].id });
    expect(agent.replies).toMatchObject([{ approvals: [{ id: "child-delete_pod" }] }]);
  });

  it("never approves another request than the one that a person saw", async () => {
    for (const names of [["delete_file"], ["delete_file", "restart"]]) {
      const { agent, question, answer } = await paused(approval(...names));
      const [option] = question.options ?? [];
      const fields = Object.fromEntries(
        (question.fields ?? []).map(({ id }: { id: string }) => [id, "approve"]),
      );
      const reply = option ? { option_id: option.id } : { fields };
      const others = names.map((name) => tool(name, `later-${name}`));
      agent.pause({ type: "tool_approval_request", tools: others });
      await expect(answer(reply)).rejects.toMatchObject({ reason: "invalid_state" });
      agent.pause(ask(region));
      await expect(answer(reply)).rejects.toMatchObject({ reason: "invalid_state" });
      await expect(answer({ text: "approve" })).rejects.toMatchObject({ reason: "invalid_state" });
      expect(agent.replies).toEqual([]);
      expect(agent.calls.filter(({ method }) => method === "SendMessage")).toHaveLength(1);
    }
  });

  it("never approves other arguments than those that a person saw", async () => {
    const { agent, question, answer } = await paused(approval("delete_file"));
    const args = { path: "/everything" };
    agent.pause({ type: "tool_approval_request", tools: [{ ...tool("delete_file"), args }] });
    await expect(answer({ option_id: question.options[0].id })).rejects.toMatchObject({
      reason: "invalid_state",
    });
    expect(agent.replies).toEqual([]);
  });

  it.each(["approve", "adk-approve:adk-delete_file", "hitl-"])(
    "never takes a decision about another question for one about its tools: %j",
    async (option_id) => {
      for (const names of [["delete_file"], ["delete_file", "restart"]]) {
        const { agent, answer } = await paused(approval(...names));
        await expect(answer({ option_id })).rejects.toMatchObject({ reason: "invalid_state" });
        await expect(answer({ option_id, question_id: "q" })).rejects.toThrow();
        expect(agent.replies).toEqual([]);
      }
    },
  );

  it("refuses a part of a form", async () => {
    const { agent, question, answer } = await paused(approval("delete_file", "restart"));
    const [{ id }] = question.fields;
    for (const fields of [{ [id]: "approve" }, { [id]: "approve", other: "approve" }, {}]) {
      await expect(answer({ fields })).rejects.toMatchObject({ reason: "invalid_state" });
    }
    expect(agent.replies).toEqual([]);
  });

  it("refuses a second decision", async () => {
    const { agent, question, answer } = await paused(approval("delete_file"));
    const reply = { option_id: question.options[0].id };
    await answer(reply);
    await expect(answer(reply)).rejects.toMatchObject({
      reason: "invalid_state",
      certainty: "refused",
    });
    expect(agent.replies).toHaveLength(1);
  });
});

describe("questions that kagent asks", () => {
  it("offer buttons for the choices of a single one, and send the choice", async () => {
    const { agent, question, answer } = await paused(ask(region));
    expect(question.prompt).toBe("Which region?");
    expect(question.options.map(({ label }: { label: string }) => label)).toEqual(["eu", "us"]);
    await answer({ option_id: question.options[1].id });
    expect(agent.replies).toEqual([
      { type: "ask_user_response", id: "ask-1", answers: [{ answer: ["us"] }] },
    ]);
  });

  it("take words for a single one, with or without choices", async () => {
    for (const one of [region, wishes]) {
      const { agent, answer } = await paused(ask(one));
      await answer({ text: "somewhere warm" });
      expect(agent.replies).toMatchObject([{ answers: [{ answer: ["somewhere warm"] }] }]);
    }
  });

  it("show a form of choices and texts, and send the answers in their order", async () => {
    const { agent, question, answer } = await paused(ask(region, features, wishes));
    expect(question.fields).toMatchObject([
      { label: "Which region?", type: "choice", options: [{ label: "eu" }, { label: "us" }] },
      { label: "Which features?", type: "choices" },
      { label: "Any wishes?", type: "text" },
    ]);
    const [one, two, three] = question.fields.map(({ id }: { id: string }) => id);
    await answer({ fields: { [three]: "none", [two]: ["1", "0"], [one]: "0" } });
    expect(agent.replies).toMatchObject([
      { answers: [{ answer: ["eu"] }, { answer: ["logs", "auth"] }, { answer: ["none"] }] },
    ]);
  });

  it("may be left open where a form may", async () => {
    const { agent, question, answer } = await paused(ask(features));
    await answer({ fields: { [question.fields[0].id]: [] } });
    expect(agent.replies).toMatchObject([{ answers: [{ answer: [] }] }]);
  });

  it("take words as the answer to all of them", async () => {
    const { agent, answer } = await paused(ask(region, wishes));
    await answer({ text: "as you like" });
    expect(agent.replies).toMatchObject([
      { answers: [{ answer: ["as you like"] }, { answer: ["as you like"] }] },
    ]);
  });

  it("take the id of a subagent for its answer", async () => {
    const { agent, question, answer } = await paused({
      ...ask(region),
      nested: nested("ask_user"),
    });
    await answer({ option_id: question.options[0].id });
    expect(agent.replies).toMatchObject([{ id: "child-ask_user" }]);
  });

  it("fill the prompt if a form cannot show them whole", async () => {
    const long = { question: "Why? ".repeat(100), choices: ["a"], multiple: true };
    const many = Array.from({ length: 21 }, () => region);
    for (const questions of [[long], many]) {
      const { question } = await paused(ask(...questions));
      expect(question.prompt).toContain(`1. ${questions[0]?.question}`);
      expect(question.fields?.length).toBe(questions.length > 20 ? undefined : 1);
    }
  });
});

describe("an agent of kagent", () => {
  it.each(["1.0", "0.3"] as const)("gets the extension in the header, in %s", async (version) => {
    const { agent } = await paused(approval("delete_file"), { version });
    const [{ headers }] = agent.calls as [(typeof agent.calls)[0]];
    expect(headers.get("a2a-extensions")).toContain(hitlUri);
    const own = headers.get(version === "1.0" ? "a2a-extensions" : "x-a2a-extensions");
    expect(own).toMatch(/^urn:sekisho:.*, https:\/\/kagent\.dev/);
  });

  it("gets no such header if its card does not name the extension", async () => {
    const { agent, question } = await paused(approval("delete_file"), { isDeclared: false });
    expect(question).not.toHaveProperty("options");
    expect(agent.calls[0]?.headers.get("a2a-extensions")).not.toContain("kagent");
  });

  it("gets a plain answer to a plain question", async () => {
    const { agent, call } = await paused(approval("delete_file"));
    agent.pause({ type: "unknown" } as never);
    await expect(call("answer_task", { task_id: "task-1", text: "yes" })).rejects.toMatchObject({
      reason: "invalid_params",
    });
    const { message } = Object(agent.calls.at(-1)?.params);
    expect(message).toMatchObject({ taskId: "task-1", parts: [{ text: "yes" }] });
    expect(message).not.toHaveProperty("extensions");
  });

  it("certainly gets no reply if its task cannot be read", async () => {
    const { agent, question, call } = await paused(approval("delete_file"));
    await agent.close();
    const reply = { task_id: "task-1", option_id: question.options[0].id };
    await expect(call("answer_task", reply)).rejects.toMatchObject({
      reason: "unavailable",
      certainty: "undelivered",
    });
  });
});

it("refuses a decision for a task that works on, although its status still has the request", () => {
  const message = { parts: [], extensions: [hitlUri], metadata: { [hitlUri]: approval("a") } };
  const task = (state: "INPUT_REQUIRED" | "WORKING"): ReadTask => ({
    ...{ id: "t1", history: [] },
    status: { state: `TASK_STATE_${state}`, message },
  });
  const option_id = readHitlQuestion(message)?.options?.[0]?.id;
  const params = { task_id: "t1", option_id };
  expect(createHitlResponse({ task: task("INPUT_REQUIRED"), params })).toBeDefined();
  expect(() => createHitlResponse({ task: task("WORKING"), params })).toThrow(
    expect.objectContaining({ reason: "invalid_state" }),
  );
  const words = { task_id: "t1", text: "approve" };
  expect(createHitlResponse({ task: task("WORKING"), params: words })).toBeUndefined();
});

describe("a hostile request", () => {
  const deep = (depth: number) => JSON.parse(`${"[".repeat(depth)}${"]".repeat(depth)}`);
  const read = (payload: unknown, extensions: string[] = [hitlUri]) =>
    readHitlQuestion({ parts: [{ text: "Go on?" }], extensions, metadata: { [hitlUri]: payload } });

  it.each<[string, unknown]>([
    ["null", null],
    ["a list", []],
    ["another type", { type: "tool_approval_response", approvals: [] }],
    ["no tools", { type: "tool_approval_request", tools: [] }],
    ["a tool twice", { type: "tool_approval_request", tools: [tool("a"), tool("a")] }],
    ["a tool without an id", { type: "tool_approval_request", tools: [{ name: "a" }] }],
    ["broken nested tools", { ...approval("a"), nested: { tools: [] } }],
    ["no questions", { type: "ask_user_request", id: "a", questions: [] }],
    ["an id that is a number", { type: "ask_user_request", id: 7, questions: [region] }],
    ["arguments without an end", { ...approval(), tools: [{ ...tool("a"), args: deep(5000) }] }],
    ["too many tools", approval(...Array.from({ length: 1001 }, (_, index) => `${index}`))],
  ])("becomes a plain question if it has %s", (_name, payload) => {
    expect(read(payload)).toBeUndefined();
  });

  it("becomes a plain question if its message does not name the extension", () => {
    expect(read(approval("a"))).toBeDefined();
    expect(read(approval("a"), [])).toBeUndefined();
  });

  it("cannot leave the code style of a name, nor name more than are read", () => {
    const name = "a` <!channel> `".repeat(50);
    const names = Array.from({ length: 30 }, (_, index) => `${name}${index}`);
    const tools = names.map((one) => ({ ...tool(one), args: {} }));
    const { prompt = "" } = read({ ...approval(), tools }) ?? {};
    expect(prompt).not.toContain("a`");
    expect(prompt.length).toBeLessThan(8000);
  });

  it("shows the arguments of twenty tools at most, each up to 3,000 characters", () => {
    const tools = Array.from({ length: 1000 }, (_, index) => ({
      ...tool(`tool_${index}`),
      args: { text: "x".repeat(100_000) },
    }));
    const { prompt = "" } = read({ ...approval(), tools }) ?? {};
    expect(prompt.length).toBeLessThan(20 * 3200);
    expect(prompt.match(/longer than what is shown/g)).toHaveLength(20);
    expect(prompt).toContain("and 980 more that are not shown");
  });

  it("never shows the arguments of a request for credentials", () => {
    const { prompt } = read(approval("adk_request_credential")) ?? {};
    expect(prompt).toBe("Go on?\n\nThe agent needs credentials for one of its tools.");
  });

  it("leaves out a hint that is for programs", () => {
    const hint = "Please approve by responding with a FunctionResponse.";
    const tools = [{ id: "1", name: "a" }];
    expect(read({ ...approval("a"), tools, hint })?.prompt).toBe(
      "Go on?\n\nThe tool `a` waits for you.",
    );
  });

  it("reads questions whose members are missing or broken", () => {
    const questions = [{}, { question: 7, choices: "all", multiple: "no" }, { question: "  " }];
    const { fields } = read({ type: "ask_user_request", id: "a", questions }) ?? {};
    expect(fields?.map(({ label, type }) => [label, type])).toEqual([
      ["1", "text"],
      ["2", "text"],
      ["3", "text"],
    ]);
  });

  it("has no effect by a card with broken extensions", () => {
    for (const extensions of [undefined, [], [{ uri: "other" }]]) {
      const card = { name: "a", capabilities: { extensions } };
      expect(hasHitl(card as never)).toBe(false);
    }
  });
});
