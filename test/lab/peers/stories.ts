/** The stories of both directions. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { MethodName, ParamsOf, ResultOf, TaskResult } from "@sekisho/contracts/methods.ts";
import type { Agent } from "@sekisho/execution/agents/agent.ts";
import { noAuthorizer } from "@sekisho/runtime/auth/authorizer.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { createHttpsCarrier } from "@sekisho/verification/transport/a2a/https-carrier.ts";
import { createA2aTransport } from "@sekisho/verification/transport/a2a/transport.ts";
import { createClient } from "@sekisho/verification/transport/runner.ts";
import { common } from "../../tables/transport-sample.ts";
import { hangMs } from "../../tooling/hang.ts";
import type { Peer, PeerAgent } from "./peer.ts";
import { numbers, toolResults } from "./script.ts";

const fileUrl = "https://files.example/a.txt";
const base64 = "aGVsbG8=";

export type AgentSide = ReturnType<typeof connect>;

/** Our transport to an agent of the peer. */
export function connect(agent: PeerAgent) {
  const transport = createA2aTransport({
    carrier: createHttpsCarrier({ cardUrl: agent.cardUrl, authorizer: noAuthorizer }),
  });
  const destination = {
    name: "peer",
    dialect: "a2a",
    idempotent: false,
    callTimeoutMs: hangMs,
  } as const;
  const client = createClient({ transport, destination, log: silentLog });
  const call = <M extends MethodName>(method: M, params: ParamsOf<M>): Promise<ResultOf<M>> =>
    // Each call with a conversation of its own, because a model reads the earlier messages of a conversation.
    client.call({ ...common, sessionId: randomUUID(), method, params, id: randomUUID() });

  /** Polls until the task ends or asks. It may still show a question that was answered, whose id is `answeredId`. */
  async function settle(result: TaskResult, answeredId?: string): Promise<TaskResult> {
    const isSettled = result.status !== "accepted" && Object(result).question_id !== answeredId;
    if (isSettled || result.status === "success") return result;
    await new Promise((resolve) => setTimeout(resolve, 10));
    return settle(await call("get_task", { task_id: result.task_id }), answeredId);
  }

  return {
    call,
    settle,
    execute: (text: string, attachments?: ParamsOf<"execute_task">["attachments"]) =>
      call("execute_task", { channel: "C1", text, ...(attachments && { attachments }) }),
    close: () => client.close(),
  };
}

const answered = (response_text: string) => ({ status: "success", response_text });

export const agentStories: Record<string, (side: AgentSide, peer: Peer) => Promise<void>> = {
  async hello({ execute, settle }) {
    assert.deepEqual(await settle(await execute("hello")), answered("Hello, Slack."));
  },
  async tokens({ execute, settle }) {
    assert.deepEqual(await settle(await execute("tokens")), answered(numbers.join("")));
  },
  async tool({ execute, settle }) {
    assert.deepEqual(
      await settle(await execute("tool")),
      answered(`It is ${toolResults.look_up}.`),
    );
  },
  async file({ execute, settle }, { name }) {
    const attachment = { id: "F1", name: "a.txt", mimetype: "text/plain", size: 5, url: fileUrl };
    const result = await settle(await execute("file", [attachment]));
    assert.equal(result.status, "success");
    assert.match(Object(result).response_text, /Read .*https:\/\/files\.example\/a\.txt/);
    const files = Object(result).artifacts?.map((artifact: { base64?: string }) => artifact.base64);
    assert.deepEqual(files, name === "ADK" ? [base64] : undefined);
  },
  async question({ execute, settle, call }) {
    for (const [word, isApproved] of [
      ["Approve", true],
      ["Deny", false],
    ] as const) {
      const asked = await settle(await execute("question"));
      assert.equal(asked.status, "input_required");
      const {
        task_id,
        prompt,
        options = [],
        question_id,
      } = asked as Extract<TaskResult, { status: "input_required" }>;
      assert.match(prompt, /delete_file.*"about": "\/a\.txt"/s);
      const option_id = options.find(({ label }) => label === word)?.id;
      const reply = option_id === undefined ? { text: isApproved ? "yes" : "no" } : { option_id };
      const result = await settle(await call("answer_task", { task_id, ...reply }), question_id);
      assert.equal(result.status, "success");
      assert.equal(Object(result).response_text.includes(toolResults.delete_file), isApproved);
    }
  },
  async failure({ execute, settle }) {
    assert.equal(await reasonOf(execute("failure").then(settle)), "execution_failed");
  },
  async cancel({ execute, call }, { cancelOutcome }) {
    const begun = await execute("cancel");
    assert.equal(begun.status, "accepted");
    const { task_id } = begun as Extract<TaskResult, { status: "accepted" }>;
    const canceled = call("cancel_task", { task_id }).then(({ status }) => status);
    assert.equal(
      await canceled.catch((error: unknown) => SekishoError.from(error).reason),
      cancelOutcome,
    );
  },
};

function reasonOf(answer: Promise<unknown>): Promise<string> {
  return answer.then(
    (result) => `no error: ${JSON.stringify(result)}`,
    (error: unknown) => SekishoError.from(error).reason,
  );
}

/** The agent of our host. */
export const ourAgent: Agent = async function* (task, { signal }) {
  const [reply] = task.answers;
  switch (task.text) {
    case "tokens":
      for (const text of numbers) yield { type: "progress", text };
      break;
    case "tool":
      yield { type: "progress", steps: [{ id: "1", title: "Look up", status: "in_progress" }] };
      break;
    case "file":
      yield { type: "artifact", artifact: { name: "a.txt", mimetype: "text/plain", base64 } };
      break;
    case "question":
      if (reply === undefined) {
        yield {
          type: "question",
          prompt: "Which city?",
          options: [{ id: "tokyo", label: "Tokyo" }],
        };
        return;
      }
      yield { type: "answer", text: `It is ${reply.text}.` };
      return;
    case "failure":
      yield { type: "failure", reason: "execution_failed" };
      return;
    case "cancel":
      await new Promise((_, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason)),
      );
  }
  yield { type: "answer", text: `The answer to ${task.text}.` };
};

export const clientStories: Record<
  string,
  (converse: () => ReturnType<Peer["converse"]>) => Promise<void>
> = {
  async hello(converse) {
    assert.equal((await (await converse()).say("hello")).text, "The answer to hello.");
  },
  async tokens(converse) {
    const { text, progress = [] } = await (await converse()).say("tokens");
    assert.equal(text, "The answer to tokens.");
    // A host sends the newest progress only, so a fast agent's may be few.
    assert.ok(
      progress.some((each) => numbers.includes(each)),
      `no progress: ${progress}`,
    );
  },
  async tool(converse) {
    assert.equal((await (await converse()).say("tool")).text, "The answer to tool.");
  },
  async file(converse) {
    const { text, files } = await (await converse()).say("file");
    assert.deepEqual([text, files], ["The answer to file.", [base64]]);
  },
  async question(converse) {
    const { state, said } = await (await converse()).say("question");
    assert.deepEqual([state, said], ["input-required", "Which city?"]);
  },
  async reply(converse) {
    const { say } = await converse();
    await say("question");
    assert.equal((await say("Tokyo")).text, "It is Tokyo.");
  },
  async failure(converse) {
    const { text, state, said } = await (await converse()).say("failure");
    assert.deepEqual([text, state, said], ["", "failed", "The agent ran and failed."]);
  },
  async cancel(converse) {
    assert.equal(await (await converse()).cancel?.("cancel"), "canceled");
  },
};
